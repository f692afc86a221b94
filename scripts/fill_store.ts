/** Inserts many keys into a store with SQL, for benchmarks. */
import { DatabaseSync } from "node:sqlite";
import type { PostgresServer } from "../tests/store/postgres/server.ts";

/** Inserts keys into the SQLite store at a path. */
export function fillSqlite(path: string, count: number): void {
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA synchronous = OFF;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
    INSERT INTO api_key (id, name, roles, permissions, created_at, secret_sha256, secret_tail)
    SELECT printf('key_%022d', i), printf('filled %d', i), '', 'DOCKER:READ_ANY', '2026-01-01T00:00:00.000Z',
      randomblob(32), 'tail' FROM n`);
  database.close();
}

/** Inserts keys into the PostgreSQL store in a database. */
export async function fillPostgres(server: PostgresServer, database: string, count: number): Promise<void> {
  await server.execute(
    database,
    `INSERT INTO service_api.api_key (id, name, roles, permissions, created_at, secret_sha256, secret_tail)
     SELECT 'key_' || lpad(i::text, 22, '0'), 'filled ' || i, '', 'DOCKER:READ_ANY', now(),
       sha256(convert_to(i || 'salt', 'UTF8')), 'tail' FROM generate_series(1, ${count}) i`,
  );
  await server.execute(database, "VACUUM ANALYZE service_api.api_key");
}
