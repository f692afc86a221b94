/** Copies from SQLite to PostgreSQL. */
import { expect } from "expect";
import { POSTGRES_MIGRATIONS } from "../../../src/store/postgres_migrations.ts";
import { openPostgresStore } from "../../../src/store/postgres.ts";
import { failureOfPromise } from "../../apikey/failure_of.ts";
import { testOnPostgres } from "../postgres/server.ts";
import { copyTo, testCopying, withSource } from "./copy_contract.ts";

await testOnPostgres("copying a store to PostgreSQL", {}, (server) => {
  testCopying("PostgreSQL", (test) =>
    server.withNewDatabase((name) => {
      const address = server.address(name);
      const version = POSTGRES_MIGRATIONS.length - 1;
      return test({
        to: { kind: "database", address },
        open: () => openPostgresStore({ address, timeout: 10_000 }),
        createOlder: () =>
          server.as("service", name, async (run) =>
            void await run([
              "CREATE SCHEMA service_api",
              ...POSTGRES_MIGRATIONS.slice(0, version),
              `CREATE TABLE service_api.schema_version AS SELECT ${version} AS version`,
            ].join(";"))),
        schema: () => server.execute(name, "SELECT version FROM schema_version"),
      });
    }));

  Deno.test("copying a store to a database that does not exist fails with advice", () =>
    withSource(async (directory) => {
      const to = { kind: "database", address: server.address("missing") } as const;
      const { code, message } = await failureOfPromise(copyTo(to, directory));
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain("Create the database");
    }));
});
