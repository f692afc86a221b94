/** Runs the cases in this process, in embedded mode on PostgreSQL. */
import { PASSWORD, testOnPostgres } from "../store/postgres/server.ts";
import { CASES } from "./cases.ts";
import { inProcess, withEnv } from "./program.ts";

await testOnPostgres("the cases on PostgreSQL", {}, (server) => {
  for (const { rule, check } of CASES) {
    Deno.test(`on PostgreSQL: ${rule}`, () =>
      server.withNewDatabase(async (database) => {
        const url = `postgres://service:${encodeURIComponent(PASSWORD)}@127.0.0.1:${server.port}/${database}`;
        await check(withEnv(inProcess, { SERVICE_API_DATABASE_URL: url }));
      }));
  }
});
