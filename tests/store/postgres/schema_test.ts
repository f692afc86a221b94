/**
 * The schema of the PostgreSQL store, the rights of the database user, the settings of the database, the locks of other
 * transactions, and a server without TLS.
 */
import { expect } from "expect";
import { POSTGRES_MIGRATIONS } from "../../../src/store/postgres_migrations.ts";
import { failureOfPromise } from "../../apikey/failure_of.ts";
import { readTrail } from "../audit_trail_contract.ts";
import { addAll, allowAny, inParallel, listKeys, LOCAL } from "../changes.ts";
import { PASSWORD, type PostgresServer, testOnPostgres } from "./server.ts";
import { failureAt, whileLocked, withStoreAt } from "./store.ts";
import { activeState, newKey, newKeys } from "../stored_key.ts";

/** A timeout that a test can wait for, in milliseconds. */
const SHORT_TIMEOUT = 1000;

/** Returns all relations except PostgreSQL's own, and the rows of the store's tables. */
function databaseContents(server: PostgresServer, name: string): Promise<unknown> {
  return server.as("admin", name, async (run) => [
    await run(`SELECT relname, nspname, relfilenode FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
               WHERE nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') ORDER BY relname`),
    await run("SELECT * FROM schema_version"),
    await run("SELECT * FROM api_key ORDER BY number"),
    await run("SELECT * FROM audit_event ORDER BY id"),
  ]);
}

await testOnPostgres("The schema in PostgreSQL", {}, (server) => {
  Deno.test("PostgreSQL: everything that the store creates is in the schema service_api", () =>
    server.withNewDatabase(async (name) => {
      await withStoreAt(server.address(name), async (store) => addAll(store, [await newKey("deploy")]));
      const rows = await server.execute(
        name,
        `SELECT DISTINCT nspname FROM (
           SELECT relnamespace AS n FROM pg_class UNION SELECT pronamespace FROM pg_proc UNION SELECT typnamespace FROM pg_type
         ) AS made JOIN pg_namespace ON pg_namespace.oid = n
         WHERE nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')`,
      );
      expect(rows).toEqual([{ nspname: "service_api" }]);
    }));

  /** The columns that published versions look up, by their schema. They reject a schema that is later than their own. */
  const PUBLISHED_LOOK_UPS = { 2: "id, revision", 3: "id, revision, enabled, expires_at" };

  for (const [version, columns] of Object.entries(PUBLISHED_LOOK_UPS)) {
    const schema = Number(version);

    Deno.test(`PostgreSQL: after the migration, a running process of a version with schema ${schema} looks up a schema that it rejects`, () =>
      server.withNewDatabase(async (name) => {
        const lookUp = (hash: string): string =>
          `SELECT version, encode(secret_sha256, 'hex') AS hash, ${columns}
           FROM service_api.schema_version LEFT JOIN service_api.api_key
           ON secret_sha256 = ANY(ARRAY['\\x${hash}']::bytea[])`;
        await server.as("service", name, async (run) => {
          await run(["CREATE SCHEMA service_api", ...POSTGRES_MIGRATIONS.slice(0, schema)].join(";"));
          await run(`CREATE TABLE service_api.schema_version AS SELECT ${schema} AS version`);
          expect(await run(lookUp(""))).toMatchObject([{ version: schema, id: null }]);
          await withStoreAt(server.address(name), async (store) => {
            const key = await newKey("deploy", { enabled: false });
            await addAll(store, [key]);
            const [row] = await run(lookUp(key.secretHash.toHex()));
            expect(row?.["id"]).toBe(key.id);
            expect(Number(row?.["version"])).toBeGreaterThan(schema);
          });
        });
      }));
  }

  Deno.test("PostgreSQL: if a newer version wrote the database, opening fails with UNREACHABLE and the database is unchanged", () =>
    server.withNewDatabase(async (name) => {
      await withStoreAt(server.address(name), async (store) => addAll(store, [await newKey("deploy")]));
      await server.execute(name, "UPDATE schema_version SET version = 99");
      const before = await databaseContents(server, name);
      const { code, message } = await failureAt(server.address(name));
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain(`127.0.0.1:${server.port}/${name}`);
      expect(message).toContain("newer version");
      expect(message).toContain("schema 99");
      expect(await databaseContents(server, name)).toEqual(before);
    }));

  Deno.test("PostgreSQL: if the user is not allowed to create the schema, opening fails with a message that says so, and nothing is created", () =>
    server.withNewDatabase(async (name) => {
      await server.execute(name, `CREATE ROLE guest_of_${name} LOGIN PASSWORD '${PASSWORD}'`);
      const { code, message } = await failureAt({ ...server.address(name), user: `guest_of_${name}` });
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain("permission denied");
      expect(message).toContain("right to create the schema service_api");
      expect(message).not.toContain(PASSWORD);
      expect(await server.execute(name, "SELECT 1 FROM pg_namespace WHERE nspname = 'service_api'")).toEqual([]);
    }));

  Deno.test("PostgreSQL: the store uses a schema that an administrator created for the user", () =>
    server.withNewDatabase(async (name) => {
      await server.execute(name, `CREATE ROLE owner_in_${name} LOGIN PASSWORD '${PASSWORD}'`);
      await server.execute(name, `CREATE SCHEMA service_api AUTHORIZATION owner_in_${name}`);
      const key = await newKey("deploy");
      await withStoreAt({ ...server.address(name), user: `owner_in_${name}` }, async (store) => {
        await addAll(store, [key]);
        expect(await listKeys(store)).toEqual([key]);
      });
    }));

  Deno.test("PostgreSQL: if the user is not allowed to use the tables, opening fails with a message that says so", () =>
    server.withNewDatabase(async (name) => {
      await withStoreAt(server.address(name), async (store) => addAll(store, [await newKey("deploy")]));
      await server.execute(name, `CREATE ROLE reader_of_${name} LOGIN PASSWORD '${PASSWORD}'`);
      const { code, message } = await failureAt({ ...server.address(name), user: `reader_of_${name}` });
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain("permission denied");
      expect(message).toContain("use its tables");
    }));

  Deno.test("PostgreSQL: if the database is read-only, reads succeed, and changes fail with a message that says so", () =>
    server.withNewDatabase(async (name) => {
      const key = await newKey("deploy");
      await withStoreAt(server.address(name), (store) => addAll(store, [key]));
      await server.execute(name, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
      await withStoreAt(server.address(name), async (store) => {
        expect(await listKeys(store)).toEqual([key]);
        const { code, message } = await failureOfPromise(store.remove([key.id], LOCAL, allowAny));
        expect(code).toBe("UNREACHABLE");
        expect(message).toContain("read-only");
        expect(await listKeys(store)).toEqual([key]);
      });
    }));

  Deno.test("PostgreSQL: the database's date format, time zone, byte format, search path, string syntax and isolation level do not affect the store", () =>
    server.withNewDatabase(async (name) => {
      await server.execute(
        name,
        `ALTER DATABASE ${name} SET datestyle = 'German';
         ALTER DATABASE ${name} SET timezone = 'Asia/Kathmandu';
         ALTER DATABASE ${name} SET bytea_output = 'escape';
         ALTER DATABASE ${name} SET search_path = 'pg_catalog';
         ALTER DATABASE ${name} SET standard_conforming_strings = off;
         ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`,
      );
      await withStoreAt(server.address(name), (one) =>
        withStoreAt(server.address(name), async (two) => {
          const key = await newKey("first", {
            description: "back\\slash 'quote' \\' 🚀",
            createdAt: new Date("2026-11-12T13:14:15.016Z"),
          });
          await addAll(one, [key]);
          expect(await listKeys(two)).toEqual([key]);
          expect(await two.findBySecretHash(key.secretHash)).toEqual(activeState(key));
          expect((await readTrail(two)).map(({ at }) => at)).toEqual([LOCAL.at]);
          const keys = await newKeys(20);
          await Promise.all(keys.map((more, i) => (i % 2 === 0 ? one : two).add(more, LOCAL, allowAny)));
          await inParallel(20, (i) => {
            const uses = new Map(keys.map(({ id }) => [id, new Date(LOCAL.at.getTime() + i)]));
            return (i % 2 === 0 ? one : two).recordUses(uses);
          });
          expect((await listKeys(one)).slice(1).map(({ lastUsedAt }) => lastUsedAt)).toEqual(
            keys.map(() => new Date(LOCAL.at.getTime() + 19)),
          );
        }));
    }));

  Deno.test("PostgreSQL: a change that waits too long for a lock fails with TIMEOUT and changes nothing", () =>
    server.withNewDatabase((name) =>
      withStoreAt(server.address(name), async (store) => {
        const [old, fresh] = await Promise.all([newKey("deploy"), newKey("deploy")]);
        await addAll(store, [old]);
        const before = await databaseContents(server, name);
        await whileLocked(server, name, "SELECT FROM service_api.api_key FOR UPDATE", async () => {
          const start = performance.now();
          const changes = [store.add(fresh, LOCAL, allowAny), store.remove([old.id], LOCAL, allowAny)];
          const failures = await Promise.all(changes.map(failureOfPromise));
          expect(failures.map(({ code }) => code)).toEqual(["TIMEOUT", "TIMEOUT"]);
          for (const { message } of failures) expect(message).toContain("Nothing was changed");
          expect(performance.now() - start).toBeLessThan(20 * SHORT_TIMEOUT);
          expect(await listKeys(store)).toEqual([old]);
        });
        expect(await databaseContents(server, name)).toEqual(before);
        await store.add(fresh, LOCAL, allowAny);
        expect(await listKeys(store)).toEqual([fresh]);
      }, SHORT_TIMEOUT)
    ));

  Deno.test("PostgreSQL: a read that waits too long for a lock fails with TIMEOUT", () =>
    server.withNewDatabase((name) =>
      withStoreAt(server.address(name), async (store) => {
        const key = await newKey("deploy");
        await addAll(store, [key]);
        await whileLocked(server, name, "LOCK TABLE service_api.api_key", async () => {
          expect((await failureOfPromise(store.findBySecretHash(key.secretHash))).code).toBe("TIMEOUT");
          expect((await failureOfPromise(listKeys(store))).code).toBe("TIMEOUT");
        });
        expect(await store.findBySecretHash(key.secretHash)).toEqual(activeState(key));
      }, SHORT_TIMEOUT)
    ));

  Deno.test("PostgreSQL: if another process takes too long to create the schema, opening fails with TIMEOUT", () =>
    server.withNewDatabase(async (name) => {
      await whileLocked(server, name, "CREATE SCHEMA service_api", async () => {
        expect((await failureAt(server.address(name), SHORT_TIMEOUT)).code).toBe("TIMEOUT");
      });
      await withStoreAt(server.address(name), async (store) => expect(await store.isEmpty()).toBe(true));
    }));

  Deno.test("PostgreSQL: if TLS is configured but the server does not offer TLS, opening fails with UNREACHABLE", () =>
    server.withNewDatabase(async (name) => {
      const tls = { rejectUnauthorized: false, ca: [] };
      const { code, message } = await failureAt({ ...server.address(name), tls });
      expect(code).toBe("UNREACHABLE");
      expect(message).toMatch(/TLS|SSL/);
    }));
});
