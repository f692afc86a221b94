/** Measures inserts through bare `node:sqlite`, the baseline for creating keys through `serve`. */
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";

/**
 * Inserts the same rows as `serve` does for new keys, each key in its own durable transaction.
 *
 * @param path the database file of a store
 * @returns the number of keys per second
 */
export function measureInserts(path: string, seconds: number): number {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA synchronous = FULL");
  const addKey = database.prepare(
    "INSERT INTO api_key (id, name, description, roles, permissions, created_at, created_by, last_used_at, " +
      "secret_sha256, secret_tail) VALUES (?, ?, NULL, '', 'DOCKER:READ_ANY', ?, ?, NULL, ?, ?)",
  );
  const addEvent = database.prepare(
    "INSERT INTO audit_event (at, actor_id, actor_name, address, request_id, action, key_id, key_name, outcome) " +
      "VALUES (?, ?, 'admin', '127.0.0.1', ?, 'CREATE', ?, ?, 'DONE')",
  );
  const at = new Date().toISOString();
  const start = performance.now();
  let count = 0;
  while (performance.now() < start + seconds * 1000) {
    const id = crypto.randomUUID();
    database.exec("BEGIN IMMEDIATE");
    addKey.run(
      `key_${id}`,
      `bench ${id}`,
      at,
      "key_0000000000000000000000",
      createHash("sha256").update(id).digest(),
      id.slice(-4),
    );
    addEvent.run(at, "key_0000000000000000000000", id, `key_${id}`, `bench ${id}`);
    database.exec("COMMIT");
    count++;
  }
  database.close();
  return count / seconds;
}
