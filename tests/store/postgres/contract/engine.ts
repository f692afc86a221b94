/**
 * Runs the tests that every `KeyStore` must pass, on PostgreSQL. They are in several files, each with a server of its own, so
 * that they run in parallel.
 */
import { POSTGRES_MIGRATIONS } from "../../../../src/store/postgres_migrations.ts";
import { openPostgresStore, openPostgresStoreOnDemand } from "../../../../src/store/postgres.ts";
import type { Engine } from "../../engine.ts";
import { insertIntoOlder } from "../../older_schema.ts";
import { type PostgresServer, testOnPostgres } from "../server.ts";
import { postgresRacer } from "../../racers.ts";

function postgresOn(server: PostgresServer): Engine {
  return {
    name: "PostgreSQL",
    olderSchemas: POSTGRES_MIGRATIONS.length - 1,
    withNewLocation: (test) =>
      server.withNewDatabase((name) => {
        const address = server.address(name);
        return test({
          open: () => openPostgresStore({ address, timeout: 30_000 }),
          openOnDemand: () => openPostgresStoreOnDemand({ address, timeout: 30_000 }),
          createOlder: (schema, key) =>
            server.as("service", name, async (run) => {
              await run([
                "CREATE SCHEMA service_api",
                ...POSTGRES_MIGRATIONS.slice(0, schema),
                `CREATE TABLE service_api.schema_version AS SELECT ${schema} AS version`,
                insertIntoOlder(
                  "service_api.api_key",
                  schema < 2 ? "secret_hash" : "secret_sha256",
                  key,
                  (hex) => `'\\x${hex}'`,
                ),
              ].join(";"));
            }),
          markAsNewer: async () =>
            void await server.execute(name, `UPDATE schema_version SET version = ${POSTGRES_MIGRATIONS.length + 1}`),
          contents: () =>
            server.as("admin", name, async (run) => [
              await run("SELECT nspname FROM pg_namespace WHERE nspname = 'service_api'"),
              await run(`SELECT relname, attname, relfilenode FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
                         WHERE relnamespace::regnamespace::text = 'service_api' ORDER BY relname, attnum`),
            ]),
          execute: async (sql) => void await server.execute(name, sql),
          racer: postgresRacer(address),
        });
      }),
  };
}

/** Registers the tests of some contracts. They share a server. */
export async function testContracts(...contracts: readonly ((engine: Engine) => void)[]): Promise<void> {
  await testOnPostgres("PostgreSQL", {}, (server) => {
    for (const register of contracts) register(postgresOn(server));
  });
}
