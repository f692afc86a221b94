/** What `copyStore` guarantees for every kind of destination. */
import { expect } from "expect";
import { DatabaseSync } from "node:sqlite";
import { hashSecret } from "../../../src/apikey/secret.ts";
import { copyStore } from "../../../src/store/copy/copy_store.ts";
import type { RowCounts } from "../../../src/store/copy/tables.ts";
import type { KeyStore } from "../../../src/store/key_store.ts";
import type { StoreLocation } from "../../../src/store/store_location.ts";
import { failureOfPromise } from "../../apikey/failure_of.ts";
import { readTrail } from "../audit_trail_contract.ts";
import { addAll, allowAny, listKeys, LOCAL } from "../changes.ts";
import { newKey, newKeyWithSecret } from "../stored_key.ts";
import { inTemporaryDirectory, withStoreIn } from "../temporary_store.ts";

/** A place for a new store. */
export interface Place {
  readonly to: StoreLocation;
  readonly open: () => Promise<KeyStore>;
  /** Creates a store with the schema before the current one, without keys. */
  readonly createOlder: () => Promise<void>;
  /** Returns the version of the schema. */
  readonly schema: () => Promise<unknown>;
}

/** Runs `test` with a new place, and removes it afterwards. */
export type WithNewPlace = (test: (place: Place) => Promise<void>) => Promise<void>;

/** Copies the store in a directory. */
export function copyTo(
  to: StoreLocation,
  from: string,
  hooks: Partial<Parameters<typeof copyStore>[0]> = {},
): Promise<RowCounts> {
  const options = { busyTimeout: 10_000, onProgress: () => Promise.resolve(), beforeCommit: () => {} };
  return copyStore({ ...options, from, to, ...hooks });
}

/** Runs `test` with a store that has a key. */
export function withSource(test: (directory: string) => Promise<void>): Promise<void> {
  return inTemporaryDirectory(async (directory) => {
    await withStoreIn(directory, async (store) => addAll(store, [await newKey("deploy")]));
    await test(directory);
  });
}

async function withStore(place: Place, test: (store: KeyStore) => Promise<void>): Promise<void> {
  const store = await place.open();
  try {
    await test(store);
  } finally {
    await store.close();
  }
}

/** Everything in a store that its users see. */
async function contentsOf(store: KeyStore): Promise<unknown> {
  const page = await store.listPage({ sort: "CREATED", after: undefined, limit: 1000 });
  return {
    keys: await listKeys(store),
    positions: page.map(({ position }) => position),
    resources: (await store.listResources()).resources,
    events: await readTrail(store),
  };
}

/** @param name the kind of the destination */
export function testCopying(name: string, withNewPlace: WithNewPlace): void {
  const test = (rule: string, act: (place: Place) => Promise<void>): void =>
    Deno.test(`copying a store to ${name}: ${rule}`, () => withNewPlace(act));

  test("every kind of key, the resources and the audit trail arrive unchanged and in order", (place) =>
    inTemporaryDirectory(async (directory) => {
      let original: unknown;
      const { key: rotated, secret } = await newKeyWithSecret("in grace", {
        previousSecretHash: new Uint8Array(32).fill(7),
        graceUntil: new Date("2999-01-02T03:04:05.006Z"),
        revision: 3,
        updatedAt: new Date("2026-03-01T00:00:00.001Z"),
      });
      await withStoreIn(directory, async (store) => {
        await store.addResource({ name: "ORDERS", description: "Bestellungen für „Müller“ 🛒" }, LOCAL, allowAny);
        await store.addResource({ name: "STOCK", description: null }, LOCAL, allowAny);
        await addAll(store, [
          rotated,
          await newKey("disabled", { enabled: false, roles: [], permissions: ["ORDERS:READ_ANY", "DOCKER:READ_OWN"] }),
          await newKey("expired", { expiresAt: new Date("2026-02-03T04:05:07Z"), managedBy: "host db1" }),
          await newKey("clé ٣ 日本", { description: 'quote " \\ and\ntab\t', roles: ["ADMIN", "VIEWER"] }),
          await newKey("created by another", { createdBy: rotated.id, lastUsedAt: new Date("2026-05-06T07:08:09Z") }),
          await newKey("deleted"),
        ]);
        const deleted = (await listKeys(store)).filter((key) => key.name === "deleted").map(({ id }) => id);
        await store.remove(deleted, LOCAL, allowAny);
        original = await contentsOf(store);
      });
      expect(await copyTo(place.to, directory)).toEqual({ keys: 5, resources: 2, auditEvents: 9 });
      await withStore(place, async (store) => {
        expect(await contentsOf(store)).toEqual(original);
        expect(await store.findBySecretHash(await hashSecret(secret))).toMatchObject({ id: rotated.id });
        expect(await store.findBySecretHash(new Uint8Array(32).fill(7)))
          .toMatchObject({ id: rotated.id, status: "active", isPrevious: true });
      });
    }));

  test("more rows than fit into memory at once arrive in order", (place) =>
    withSource(async (directory) => {
      using database = new DatabaseSync(`${directory}/keys.db`);
      database.exec(`
        WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        INSERT INTO api_key (id, name, roles, permissions, created_at, secret_sha256, secret_tail)
        SELECT 'key_' || i, 'key ' || i, 'GUEST', '', '2026-01-02T03:04:05.006Z', CAST(printf('%032d', i) AS BLOB), 'tail'
        FROM n`);
      database.close();
      const shown: (readonly [number, number])[] = [];
      const onProgress = (...numbers: readonly [number, number]): Promise<void> => {
        shown.push(numbers);
        return Promise.resolve();
      };
      expect(await copyTo(place.to, directory, { onProgress })).toEqual({ keys: 2500, resources: 0, auditEvents: 1 });
      expect(shown).toEqual([[1000, 2501], [2000, 2501], [2500, 2501], [2501, 2501]]);
      await withStore(place, async (store) => {
        const names = (await listKeys(store)).map((key) => key.name);
        expect(names).toEqual(["deploy", ...Array.from({ length: 2499 }, (_, i) => `key ${i + 2}`)]);
      });
    }));

  test("new keys and audit events follow the copied ones, even if the last events were deleted", (place) =>
    withSource(async (directory) => {
      let lastId = "";
      await withStoreIn(directory, async (store) => {
        await addAll(store, [await newKey("second")]);
        lastId = (await readTrail(store)).at(-1)?.id ?? "";
        await store.dropEventsBefore(new Date("2999-01-01"));
      });
      expect(await copyTo(place.to, directory)).toEqual({ keys: 2, resources: 0, auditEvents: 0 });
      await withStore(place, async (store) => {
        await addAll(store, [await newKey("third")]);
        expect((await listKeys(store)).map((key) => key.name)).toEqual(["deploy", "second", "third"]);
        const events = await store.listEvents(lastId, 10);
        expect(events.map(({ keyName }) => keyName)).toEqual(["third"]);
      });
    }));

  test("a process that has the empty destination open sees the copied keys and a new revision of the resources", (place) =>
    inTemporaryDirectory(async (directory) => {
      const { key, secret } = await newKeyWithSecret("deploy");
      await withStoreIn(directory, async (store) => {
        await store.addResource({ name: "ORDERS", description: null }, LOCAL, allowAny);
        await addAll(store, [key]);
      });
      await withStore(place, async (store) => {
        const hash = await hashSecret(secret);
        const { revision } = await store.listResources();
        expect(await store.findBySecretHash(hash)).toBeUndefined();
        await copyTo(place.to, directory);
        expect((await store.listResources()).revision).toBeGreaterThan(revision);
        expect(await store.findBySecretHash(hash)).toMatchObject({ id: key.id });
      });
    }));

  const OCCUPANTS: Readonly<Record<string, readonly [string, (store: KeyStore) => Promise<void>]>> = {
    "a key": ["1 API key, 0 resources and 1 audit event", async (store) => addAll(store, [await newKey("here")])],
    "a resource": [
      "0 API keys, 1 resource and 1 audit event",
      (store) => store.addResource({ name: "HERE", description: null }, LOCAL, allowAny),
    ],
    "an audit event": [
      "0 API keys, 0 resources and 1 audit event",
      (store) => store.recordEvent({ ...LOCAL, action: "CREATE", keyId: null, keyName: "no", outcome: "FORBIDDEN" }),
    ],
  };

  for (const [what, [counts, occupy]] of Object.entries(OCCUPANTS)) {
    test(`a destination with ${what} is refused and stays as it is`, (place) =>
      withSource(async (directory) => {
        let before: unknown;
        await withStore(place, async (store) => {
          await occupy(store);
          before = await contentsOf(store);
        });
        const { code, message } = await failureOfPromise(copyTo(place.to, directory));
        expect(code).toBe("FAILED");
        expect(message).toContain(`is not empty: it has ${counts}. Nothing was copied.`);
        await withStore(place, async (store) => expect(await contentsOf(store)).toEqual(before));
      }));
  }

  test("a destination with an older schema is refused and not migrated", (place) =>
    withSource(async (directory) => {
      await place.createOlder();
      const before = await place.schema();
      const { code, message } = await failureOfPromise(copyTo(place.to, directory));
      expect(code).toBe("FAILED");
      expect(message).toContain("An older version of service-api created the store");
      expect(await place.schema()).toEqual(before);
    }));

  for (const hook of ["onProgress", "beforeCommit"] as const) {
    test(`if it is interrupted in ${hook}, nothing is in the destination, and it can be repeated`, (place) =>
      withSource(async (directory) => {
        const interrupt = (): never => {
          throw new Error("interrupted");
        };
        await expect(copyTo(place.to, directory, { [hook]: interrupt })).rejects.toThrow("interrupted");
        await withStore(
          place,
          async (store) =>
            expect(await contentsOf(store)).toEqual({ keys: [], positions: [], resources: [], events: [] }),
        );
        expect(await copyTo(place.to, directory)).toEqual({ keys: 1, resources: 0, auditEvents: 1 });
      }));
  }
}
