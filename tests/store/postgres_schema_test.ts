/** What the PostgreSQL store makes in a database, and what it does with what others make or hold there. */
import { expect } from "expect";
import { failureOfPromise } from "../apikey/failure_of.ts";
import { trail } from "./audit_trail_contract.ts";
import { addAll, anyway, atOnce, listed, LOCAL } from "./changes.ts";
import { PASSWORD, type PostgresServer, testOnPostgres } from "./postgres_server.ts";
import { refusalAt, withStoreAt } from "./postgres_store.ts";
import { newKey, newKeys } from "./stored_key.ts";

/** A timeout, in milliseconds, that tests are willing to wait for. */
const SHORT = 1000;

/** Every relation that is not PostgreSQL's own, and what the tables of the store hold. */
function everything(server: PostgresServer, name: string): Promise<unknown> {
  return server.as("admin", name, async (run) => [
    await run(`SELECT relname, nspname, relfilenode FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
               WHERE nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') ORDER BY relname`),
    await run("SELECT * FROM schema_version"),
    await run("SELECT * FROM api_key ORDER BY number"),
    await run("SELECT * FROM audit_event ORDER BY id"),
  ]);
}

/** Runs SQL in a transaction that stays open while `test` runs, and is undone then. */
function whileHeld(server: PostgresServer, name: string, sql: string, test: () => Promise<void>): Promise<void> {
  return server.as("service", name, async (run) => {
    await run(`BEGIN; ${sql}`);
    await test();
    await run("ROLLBACK");
  });
}

await testOnPostgres("What is in PostgreSQL", {}, (server) => {
  Deno.test("PostgreSQL: everything that the store makes is in the schema service_api", () =>
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

  Deno.test("PostgreSQL: a database of a newer version is refused as UNREACHABLE, told as such, and stays as it is", () =>
    server.withNewDatabase(async (name) => {
      await withStoreAt(server.address(name), async (store) => addAll(store, [await newKey("deploy")]));
      await server.execute(name, "UPDATE schema_version SET version = 99");
      const before = await everything(server, name);
      const { code, message } = await refusalAt(server.address(name));
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain(`127.0.0.1:${server.port}/${name}`);
      expect(message).toContain("newer version");
      expect(message).toContain("schema 99");
      expect(await everything(server, name)).toEqual(before);
    }));

  Deno.test("PostgreSQL: a user who may not make the schema is told so, and nothing is made", () =>
    server.withNewDatabase(async (name) => {
      await server.execute(name, `CREATE ROLE guest_of_${name} LOGIN PASSWORD '${PASSWORD}'`);
      const { code, message } = await refusalAt({ ...server.address(name), user: `guest_of_${name}` });
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain("permission denied");
      expect(message).toContain("right to create the schema service_api");
      expect(message).not.toContain(PASSWORD);
      expect(await server.execute(name, "SELECT 1 FROM pg_namespace WHERE nspname = 'service_api'")).toEqual([]);
    }));

  Deno.test("PostgreSQL: a schema that an administrator made for the user is used", () =>
    server.withNewDatabase(async (name) => {
      await server.execute(name, `CREATE ROLE owner_in_${name} LOGIN PASSWORD '${PASSWORD}'`);
      await server.execute(name, `CREATE SCHEMA service_api AUTHORIZATION owner_in_${name}`);
      const key = await newKey("deploy");
      await withStoreAt({ ...server.address(name), user: `owner_in_${name}` }, async (store) => {
        await addAll(store, [key]);
        expect(await listed(store)).toEqual([key]);
      });
    }));

  Deno.test("PostgreSQL: a user who may not use what another one made is told so", () =>
    server.withNewDatabase(async (name) => {
      await withStoreAt(server.address(name), async (store) => addAll(store, [await newKey("deploy")]));
      await server.execute(name, `CREATE ROLE reader_of_${name} LOGIN PASSWORD '${PASSWORD}'`);
      const { code, message } = await refusalAt({ ...server.address(name), user: `reader_of_${name}` });
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain("permission denied");
      expect(message).toContain("use what is in it");
    }));

  Deno.test("PostgreSQL: a database that takes no changes can be read, and says so to whoever would change it", () =>
    server.withNewDatabase(async (name) => {
      const key = await newKey("deploy");
      await withStoreAt(server.address(name), (store) => addAll(store, [key]));
      await server.execute(name, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
      await withStoreAt(server.address(name), async (store) => {
        expect(await listed(store)).toEqual([key]);
        const { code, message } = await failureOfPromise(store.remove([key.id], LOCAL, anyway));
        expect(code).toBe("UNREACHABLE");
        expect(message).toContain("read-only");
        expect(await listed(store)).toEqual([key]);
      });
    }));

  Deno.test("PostgreSQL: settings that a database has for other programs change nothing", () =>
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
          expect(await listed(two)).toEqual([key]);
          expect(await two.findIdBySecretHash(key.secretHash)).toBe(key.id);
          expect((await trail(two)).map(({ at }) => at)).toEqual([LOCAL.at]);
          const keys = await newKeys(20);
          await Promise.all(keys.map((more, i) => (i % 2 === 0 ? one : two).add(more, LOCAL, anyway)));
          await atOnce(20, (i) => {
            const uses = new Map(keys.map(({ id }) => [id, new Date(LOCAL.at.getTime() + i)]));
            return (i % 2 === 0 ? one : two).recordUses(uses);
          });
          expect((await listed(one)).slice(1).map(({ lastUsedAt }) => lastUsedAt)).toEqual(
            keys.map(() => new Date(LOCAL.at.getTime() + 19)),
          );
        }));
    }));

  Deno.test("PostgreSQL: a change that another transaction holds up for too long fails with TIMEOUT and changes nothing", () =>
    server.withNewDatabase((name) =>
      withStoreAt(server.address(name), async (store) => {
        const [old, fresh] = await Promise.all([newKey("deploy"), newKey("deploy")]);
        await addAll(store, [old]);
        const before = await everything(server, name);
        await whileHeld(server, name, "SELECT FROM service_api.api_key FOR UPDATE", async () => {
          const start = performance.now();
          const changes = [store.add(fresh, LOCAL, anyway), store.remove([old.id], LOCAL, anyway)];
          const failures = await Promise.all(changes.map(failureOfPromise));
          expect(failures.map(({ code }) => code)).toEqual(["TIMEOUT", "TIMEOUT"]);
          for (const { message } of failures) expect(message).toContain("Nothing was changed");
          expect(performance.now() - start).toBeLessThan(5 * SHORT);
          expect(await listed(store)).toEqual([old]);
        });
        expect(await everything(server, name)).toEqual(before);
        await store.add(fresh, LOCAL, anyway);
        expect(await listed(store)).toEqual([fresh]);
      }, SHORT)
    ));

  Deno.test("PostgreSQL: a table that another transaction holds for too long fails whoever reads with TIMEOUT", () =>
    server.withNewDatabase((name) =>
      withStoreAt(server.address(name), async (store) => {
        const key = await newKey("deploy");
        await addAll(store, [key]);
        await whileHeld(server, name, "LOCK TABLE service_api.api_key", async () => {
          expect((await failureOfPromise(store.findIdBySecretHash(key.secretHash))).code).toBe("TIMEOUT");
          expect((await failureOfPromise(listed(store))).code).toBe("TIMEOUT");
        });
        expect(await store.findIdBySecretHash(key.secretHash)).toBe(key.id);
      }, SHORT)
    ));

  Deno.test("PostgreSQL: a schema that another process takes too long to make cannot be opened: TIMEOUT", () =>
    server.withNewDatabase(async (name) => {
      await whileHeld(server, name, "CREATE SCHEMA service_api", async () => {
        expect((await refusalAt(server.address(name), SHORT)).code).toBe("TIMEOUT");
      });
      await withStoreAt(server.address(name), async (store) => expect(await store.isEmpty()).toBe(true));
    }));

  Deno.test("PostgreSQL: where TLS is asked for and the server has none, the store cannot be opened", () =>
    server.withNewDatabase(async (name) => {
      const tls = { rejectUnauthorized: false, ca: [] };
      const { code, message } = await refusalAt({ ...server.address(name), tls });
      expect(code).toBe("UNREACHABLE");
      expect(message).toMatch(/TLS|SSL/);
    }));
});
