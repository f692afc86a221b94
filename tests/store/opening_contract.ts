/**
 * The tests that every `KeyStore` must pass about stores that a newer version wrote. They run on SQLite and on PostgreSQL.
 */
import { expect } from "expect";
import { failureOfPromise } from "../apikey/failure_of.ts";
import { addAll, allowAny, listKeys, LOCAL, rejectTakenName } from "./changes.ts";
import { type Engine, type Location, withNewStore, withStore } from "./engine.ts";
import { newKey } from "./stored_key.ts";

/** Registers the tests for one database engine. */
export function testOpening(engine: Engine): void {
  const test = (rule: string, check: (location: Location) => Promise<void>): void =>
    Deno.test(`${engine.name}: ${rule}`, () => engine.withNewLocation(check));

  test("After the migration, the look-up of versions that know no revision fails", async (location) => {
    await withStore(location, async (store) => addAll(store, [await newKey("deploy")]));
    await expect(location.execute("SELECT id FROM api_key WHERE secret_hash = NULL")).rejects.toThrow("secret_hash");
  });

  Deno.test(`${engine.name}: If a newer version renames a column of an open store, look-ups fail and the message says why`, () =>
    withNewStore(engine, async (store, location) => {
      const key = await newKey("deploy");
      await addAll(store, [key]);
      expect(await store.findBySecretHash(key.secretHash)).toBeDefined();
      await location.execute("ALTER TABLE api_key RENAME COLUMN secret_sha256 TO renamed");
      const { code, message } = await failureOfPromise(store.findBySecretHash(key.secretHash));
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain("newer version of service-api");
    }));

  Deno.test(`${engine.name}: If a newer version migrates an open store, look-ups and changes fail with UNREACHABLE`, () =>
    withNewStore(engine, async (store, location) => {
      const [key, fresh] = [await newKey("deploy"), await newKey("fresh")];
      await addAll(store, [key]);
      expect(await store.findBySecretHash(key.secretHash)).toEqual({ id: key.id, revision: 1 });
      await location.markAsNewer();
      const calls = [
        store.findBySecretHash(key.secretHash),
        store.findBySecretHash(fresh.secretHash),
        store.isEmpty(),
        store.add(fresh, LOCAL, rejectTakenName),
        store.remove([key.id], LOCAL, allowAny),
      ];
      const failures = await Promise.all(calls.map(failureOfPromise));
      expect(failures.map(({ code }) => code)).toEqual(calls.map(() => "UNREACHABLE"));
      for (const { message } of failures) expect(message).toContain("newer version");
      expect(await listKeys(store)).toEqual([key]);
    }));
}
