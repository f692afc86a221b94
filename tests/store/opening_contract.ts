/**
 * The tests that every `KeyStore` must pass about missing stores, and about stores that an older or a newer version
 * wrote. They run on SQLite and on PostgreSQL.
 */
import { expect } from "expect";
import type { KeyStore } from "../../src/store/key_store.ts";
import type { StoredKey } from "../../src/store/stored_key.ts";
import { failureOfPromise } from "../apikey/failure_of.ts";
import { addAll, allowAny, inParallel, listKeys, LOCAL, rejectTakenName } from "./changes.ts";
import { type Engine, type Location, withNewStore, withStore } from "./engine.ts";
import type { KeySort } from "../../src/store/key_order.ts";
import { set } from "./update_contract.ts";
import { activeState, newKey, newKeys } from "./stored_key.ts";

const SORTS: readonly KeySort[] = ["CREATED", "NAME", "USED", "EXPIRES"];

/** Returns everything that a reader can see of one key. */
async function readAll(store: KeyStore, key: StoredKey): Promise<unknown> {
  return {
    isEmpty: await store.isEmpty(),
    counts: await store.countKeys(),
    list: await listKeys(store),
    own: await listKeys(store, key.id),
    pages: await Promise.all(SORTS.map(async (sort) => {
      const [first] = await store.listPage({ sort, limit: 1 });
      return [first?.key, ...await store.listPage({ sort, limit: 1, after: first?.position })];
    })),
    byId: await store.findById(key.id),
    byName: await store.findByName(key.name),
    bySecret: await store.findBySecretHash(key.secretHash),
    events: await store.listEvents(undefined, 10),
    resources: await store.listResources(),
  };
}

function onDemand(location: Location, test: (store: KeyStore) => Promise<void>): Promise<void> {
  return withStore({ ...location, open: location.openOnDemand }, test);
}

/** Registers the tests for one database engine. */
export function testOpening(engine: Engine): void {
  const test = (rule: string, check: (location: Location) => Promise<void>): void =>
    Deno.test(`${engine.name}: ${rule}`, () => engine.withNewLocation(check));

  test("Reading a missing store finds nothing and creates nothing", async (location) => {
    const [before, key] = [await location.contents(), await newKey("deploy")];
    await onDemand(location, async (store) => {
      expect(await readAll(store, key)).toEqual({
        isEmpty: true,
        counts: { active: 0, disabled: 0, expired: 0, nextExpiry: null },
        list: [],
        own: [],
        pages: SORTS.map(() => [undefined]),
        events: [],
        resources: { revision: 0, resources: [] },
      });
    });
    expect(await location.contents()).toEqual(before);
  });

  test("Deleting from a missing store, updating in it, removing a resource, a refused change and a last use create nothing", async (location) => {
    const before = await location.contents();
    await onDemand(location, async (store) => {
      expect(await store.remove(["key_nowhere"], LOCAL, allowAny)).toBe(false);
      const refused = { ...LOCAL, action: "CREATE", keyId: null, keyName: "a", outcome: "NO_RIGHTS" } as const;
      await store.recordEvent(refused);
      await store.recordUses(new Map([["key_nowhere", LOCAL.at]]));
      await store.dropEventsBefore(LOCAL.at);
      const removal = store.removeResource("ORDERS", LOCAL, allowAny);
      expect((await failureOfPromise(removal)).code).toBe("NOT_FOUND");
      expect(await store.update({ id: "key_nowhere" }, LOCAL, { action: "UPDATE" }, set({}))).toBeUndefined();
    });
    expect(await location.contents()).toEqual(before);
  });

  test("Adding keys to a missing store creates it once, and the same store then finds the keys", async (location) => {
    const keys = await newKeys(5);
    await onDemand(location, async (store) => {
      expect(await store.isEmpty()).toBe(true);
      await inParallel(keys.length, async (i) => {
        const key = keys[i];
        if (key !== undefined) await store.add(key, LOCAL, rejectTakenName);
      });
      expect((await listKeys(store)).map(({ id }) => id).toSorted()).toEqual(keys.map(({ id }) => id).toSorted());
      expect(await store.isEmpty()).toBe(false);
      expect(await store.remove(keys.map(({ id }) => id), LOCAL, allowAny)).toBe(true);
    });
    await withStore(location, async (store) => expect(await store.listEvents(undefined, 20)).toHaveLength(10));
  });

  test("A current store that is opened on demand works like any other store", async (location) => {
    const key = await newKey("deploy");
    await withStore(location, (store) => addAll(store, [key]));
    await onDemand(location, async (store) => {
      expect(await store.findBySecretHash(key.secretHash)).toEqual(activeState(key));
      await store.recordUses(new Map([[key.id, LOCAL.at]]));
      expect(await store.findById(key.id)).toEqual({ ...key, lastUsedAt: LOCAL.at });
    });
  });

  for (let schema = 1; schema <= engine.olderSchemas; schema++) {
    test(`Reading a store with schema ${schema} does not migrate it`, async (location) => {
      const key = await newKey("deploy", { permissions: ["DOCKER:READ_ANY"] });
      await location.createOlder(schema, key);
      const before = await location.contents();
      await onDemand(location, async (store) => {
        expect(await readAll(store, key)).toEqual({
          isEmpty: false,
          counts: { active: 1, disabled: 0, expired: 0, nextExpiry: null },
          list: [key],
          own: [key],
          pages: SORTS.map(() => [key]),
          byId: key,
          byName: key,
          bySecret: activeState(key),
          events: [],
          resources: { revision: 0, resources: [] },
        });
        await store.recordUses(new Map([[key.id, LOCAL.at]]));
      });
      expect(await location.contents()).toEqual(before);
    });

    test(`The first update of a key in a store with schema ${schema} migrates the store`, async (location) => {
      const key = await newKey("deploy");
      await location.createOlder(schema, key);
      await onDemand(location, async (store) => {
        const disabled = { ...key, enabled: false, revision: 2, updatedAt: LOCAL.at };
        expect(await store.update({ id: key.id }, LOCAL, { action: "UPDATE" }, set({ enabled: false }))).toEqual(
          disabled,
        );
        expect((await store.findBySecretHash(key.secretHash))?.status).toBe("disabled");
        await withStore(location, async (other) => expect(await listKeys(other)).toEqual([disabled]));
      });
    });

    test(`Adding a resource to a store with schema ${schema} migrates the store`, async (location) => {
      const key = await newKey("deploy");
      await location.createOlder(schema, key);
      await onDemand(location, async (store) => {
        await store.addResource({ name: "ORDERS", description: null }, LOCAL, allowAny);
        expect(await store.listResources()).toEqual({
          revision: 1,
          resources: [{ name: "ORDERS", description: null }],
        });
        expect(await store.findBySecretHash(key.secretHash)).toEqual({ ...activeState(key), resourcesRevision: 1 });
      });
    });

    test(`The first change to a store with schema ${schema} migrates it and keeps its keys`, async (location) => {
      const [key, fresh] = [await newKey("deploy"), await newKey("fresh")];
      await location.createOlder(schema, key);
      await onDemand(location, async (store) => {
        expect(await store.findByName(key.name)).toEqual(key);
        await store.add(fresh, LOCAL, rejectTakenName);
        expect(await listKeys(store)).toEqual([key, fresh]);
        expect(await store.findBySecretHash(key.secretHash)).toEqual(activeState(key));
      });
      await withStore(location, async (store) => expect(await listKeys(store)).toEqual([key, fresh]));
    });
  }

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
      expect(await store.findBySecretHash(key.secretHash)).toEqual(activeState(key));
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
