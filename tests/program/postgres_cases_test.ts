/** Runs the smoke tests in this process, in embedded mode on PostgreSQL. The tests of the store cover the rest. */
import { PASSWORD, testOnPostgres } from "../store/postgres/server.ts";
import { CASES } from "./cases.ts";
import { inProcess, withEnv } from "./program.ts";

await testOnPostgres("the cases on PostgreSQL", {}, (server) => {
  for (const { rule, check } of CASES.filter(({ isSmokeTest }) => isSmokeTest)) {
    Deno.test(`on PostgreSQL: ${rule}`, () =>
      server.withNewDatabase(async (database) => {
        const url = `postgres://service:${encodeURIComponent(PASSWORD)}@127.0.0.1:${server.port}/${database}`;
        await check(withEnv(inProcess, { SERVICE_API_DATABASE_URL: url }));
      }));
  }
});
