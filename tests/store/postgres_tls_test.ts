/** How the PostgreSQL store secures the way to its server. */
import { expect } from "expect";
import { openPostgresStore } from "../../src/store/postgres.ts";
import type { DatabaseAddress, DatabaseTls } from "../../src/store/postgres_database.ts";
import { AUTHORITY } from "../client/certificates.ts";
import { testOnPostgres } from "./postgres_server.ts";
import { refusalAt } from "./postgres_store.ts";
import { withProxy } from "./proxy.ts";

function over(tls: DatabaseAddress["tls"], address: DatabaseAddress, host = "localhost"): DatabaseAddress {
  return { ...address, host, label: `${host}:${address.port}/${address.database}`, tls };
}

const TRUSTING: DatabaseTls = { rejectUnauthorized: true, ca: [AUTHORITY] };
const STRANGER: DatabaseTls = { rejectUnauthorized: true, ca: [] };
const CARELESS: DatabaseTls = { rejectUnauthorized: false, ca: [] };

await testOnPostgres("TLS to PostgreSQL", { tls: true }, (server) => {
  Deno.test("PostgreSQL: a connection in clear is in clear, and one over TLS is encrypted", () =>
    server.withNewDatabase(async (name) => {
      async function isEncrypted(tls: DatabaseAddress["tls"]): Promise<readonly unknown[]> {
        const store = await openPostgresStore({ address: over(tls, server.address(name)), timeout: 10_000 });
        const rows = await server.execute(
          name,
          `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
           WHERE datname = '${name}' AND application_name = 'service-api'`,
        ).finally(() => store.close());
        return rows.map(({ ssl }) => ssl);
      }
      expect(await isEncrypted(undefined)).toEqual([false]);
      expect(await isEncrypted(TRUSTING)).toEqual([true]);
      expect(await isEncrypted(CARELESS)).toEqual([true]);
    }));

  Deno.test("PostgreSQL: an untrusted certificate is refused as UNREACHABLE, and the message names sslrootcert", () =>
    server.withNewDatabase(async (name) => {
      const { code, message } = await refusalAt(over(STRANGER, server.address(name)));
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain("certificate");
      expect(message).toContain("sslrootcert");
    }));

  Deno.test("PostgreSQL: a certificate for another host is refused as UNREACHABLE, by IP address too", () =>
    server.withNewDatabase(async (name) => {
      const { code, message } = await refusalAt(over(TRUSTING, server.address(name), "127.0.0.1"));
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain("does not match certificate");
      expect(message).not.toContain("sslrootcert");
    }));

  Deno.test("PostgreSQL: where a certificate is refused, the password was not sent", () =>
    server.withNewDatabase((name) =>
      withProxy(server.port, async (proxy) => {
        const sent: string[] = [];
        proxy.rule = (direction, bytes) => {
          if (direction === "up") sent.push(bytes);
          return "pass";
        };
        const address = { ...over(STRANGER, server.address(name)), port: proxy.port };
        await refusalAt(address);
        expect(sent.join("").length).toBeGreaterThan(100);
        expect(sent.join("")).not.toContain("service-api");
        expect(sent.join("")).not.toContain(`user\0service`);
      })
    ));
});
