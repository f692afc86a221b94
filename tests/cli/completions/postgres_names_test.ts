/** Completing the names of keys in PostgreSQL. */
import { expect } from "expect";
import { inProcess } from "../../program/program.ts";
import { PASSWORD, testOnPostgres } from "../../store/postgres/server.ts";

await testOnPostgres("Completing names", {}, (server) => {
  Deno.test("--delete --name completes to the key names in PostgreSQL, and creates no tables if there are none", () =>
    server.withNewDatabase(async (database) => {
      const address = `127.0.0.1:${server.port}/${database}`;
      const env = { SERVICE_API_DATABASE_URL: `postgres://service:${encodeURIComponent(PASSWORD)}@${address}` };
      const complete = ["__complete", "--", "apikey", "--delete", "--name", ""];
      expect(await inProcess(complete, { env })).toEqual({ code: 0, stdout: ":space\n", stderr: "" });
      const schemas = "SELECT FROM pg_namespace WHERE nspname = 'service_api'";
      expect(await server.execute(database, schemas)).toEqual([]);
      await inProcess(["apikey", "--create", "--name", "ci deploy", "--roles", "VIEWER"], { env });
      expect((await inProcess(complete, { env })).stdout).toBe("ci deploy\t(VIEWER)\n:space\n");
    }));
});
