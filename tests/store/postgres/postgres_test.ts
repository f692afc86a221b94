/** Runs on PostgreSQL the tests that every `KeyStore` must pass. */
import { POSTGRES_MIGRATIONS } from "../../../src/store/migrations.ts";
import { openPostgresStore } from "../../../src/store/postgres.ts";
import { testAuditTrail } from "../audit_trail_contract.ts";
import type { Engine } from "../engine.ts";
import { testKeys } from "../key_store_contract.ts";
import { testOpening } from "../opening_contract.ts";
import { type PostgresServer, testOnPostgres } from "./server.ts";
import { postgresRacer } from "../racers.ts";
import { testRaces } from "../race_contract.ts";

function postgresOn(server: PostgresServer): Engine {
  return {
    name: "PostgreSQL",
    withNewLocation: (test) =>
      server.withNewDatabase((name) => {
        const address = server.address(name);
        return test({
          open: () => openPostgresStore({ address, timeout: 30_000 }),
          markAsNewer: async () =>
            void await server.execute(name, `UPDATE schema_version SET version = ${POSTGRES_MIGRATIONS.length + 1}`),
          execute: async (sql) => void await server.execute(name, sql),
          racer: postgresRacer(address),
        });
      }),
  };
}

await testOnPostgres("PostgreSQL", {}, (server) => {
  const engine = postgresOn(server);
  testKeys(engine);
  testAuditTrail(engine);
  testRaces(engine);
  testOpening(engine);
});
