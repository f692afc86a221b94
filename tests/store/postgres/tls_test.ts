/** TLS between the store and the PostgreSQL server. */
import { expect } from "expect";
import { openPostgresStore } from "../../../src/store/postgres.ts";
import type { DatabaseAddress, DatabaseTls } from "../../../src/store/postgres_database.ts";
import { AUTHORITY } from "../../client/certificates.ts";
import { testOnPostgres } from "./server.ts";
import { failureAt } from "./store.ts";
import { withProxy } from "./proxy.ts";

function withTls(tls: DatabaseAddress["tls"], address: DatabaseAddress, host = "localhost"): DatabaseAddress {
  return { ...address, host, label: `${host}:${address.port}/${address.database}`, tls };
}

const TRUSTED_CA: DatabaseTls = { rejectUnauthorized: true, ca: [AUTHORITY] };
const UNKNOWN_CA: DatabaseTls = { rejectUnauthorized: true, ca: [] };
const UNVERIFIED: DatabaseTls = { rejectUnauthorized: false, ca: [] };

await testOnPostgres("TLS to PostgreSQL", { tls: true }, (server) => {
  Deno.test("PostgreSQL: the connection is encrypted if, and only if, TLS is configured", () =>
    server.withNewDatabase(async (name) => {
      async function isEncrypted(tls: DatabaseAddress["tls"]): Promise<readonly unknown[]> {
        const store = await openPostgresStore({ address: withTls(tls, server.address(name)), timeout: 10_000 });
        const rows = await server.execute(
          name,
          `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
           WHERE datname = '${name}' AND application_name = 'service-api'`,
        ).finally(() => store.close());
        return rows.map(({ ssl }) => ssl);
      }
      expect(await isEncrypted(undefined)).toEqual([false]);
      expect(await isEncrypted(TRUSTED_CA)).toEqual([true]);
      expect(await isEncrypted(UNVERIFIED)).toEqual([true]);
    }));

  Deno.test("PostgreSQL: if the server's certificate is not trusted, opening fails with UNREACHABLE and the message names sslrootcert", () =>
    server.withNewDatabase(async (name) => {
      const { code, message } = await failureAt(withTls(UNKNOWN_CA, server.address(name)));
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain("certificate");
      expect(message).toContain("sslrootcert");
    }));

  Deno.test("PostgreSQL: if the server's certificate is for another host, opening fails with UNREACHABLE", () =>
    server.withNewDatabase(async (name) => {
      const { code, message } = await failureAt(withTls(TRUSTED_CA, server.address(name), "127.0.0.1"));
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain("does not match certificate");
      expect(message).not.toContain("sslrootcert");
    }));

  Deno.test("PostgreSQL: if the server's certificate is not trusted, the store sends neither its user name nor its password", () =>
    server.withNewDatabase((name) =>
      withProxy(server.port, async (proxy) => {
        const sent: string[] = [];
        proxy.rule = (direction, bytes) => {
          if (direction === "up") sent.push(bytes);
          return "forward";
        };
        const address = { ...withTls(UNKNOWN_CA, server.address(name)), port: proxy.port };
        await failureAt(address);
        expect(sent.join("").length).toBeGreaterThan(100);
        expect(sent.join("")).not.toContain("service-api");
        expect(sent.join("")).not.toContain(`user\0service`);
      })
    ));
});
