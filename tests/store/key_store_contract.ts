/** What `KeyStore` promises of keys, on whichever engine. */
import { expect } from "expect";
import fc from "fast-check";
import { Failure } from "../../src/apikey/failure.ts";
import { parseName } from "../../src/apikey/name.ts";
import type { KeyStore, Precondition } from "../../src/store/key_store.ts";
import type { StoredKey } from "../../src/store/stored_key.ts";
import { failureOfPromise } from "../apikey/failure_of.ts";
import { addAll, addAtOnce, anyway, listed, LOCAL, unlessTaken } from "./changes.ts";
import { type Engine, withNewStore, withStore, withTwoStores } from "./engine.ts";
import { newKey, newKeys } from "./stored_key.ts";

async function idsIn(store: KeyStore): Promise<readonly string[]> {
  return (await listed(store)).map(({ id }) => id);
}

function threeKeys(): Promise<readonly [StoredKey, StoredKey, StoredKey]> {
  return Promise.all([newKey("a"), newKey("b"), newKey("c")]);
}

/** A precondition to everything that remembers what it was asked about. */
function listening(): { readonly precondition: Precondition; readonly asked: (StoredKey | undefined)[] } {
  const asked: (StoredKey | undefined)[] = [];
  return { precondition: (held) => void asked.push(held), asked };
}

const REFUSAL = new Failure("FORBIDDEN", "not this one");

/** Consents to the removal of no key but those. */
function noneBut(...spared: readonly (StoredKey | undefined)[]): Precondition {
  return (held) => {
    if (!spared.some((key) => key?.id === held?.id)) throw REFUSAL;
  };
}

/** Registers the tests of the contract for an engine. */
export function testKeys(engine: Engine): void {
  const test = (rule: string, check: () => Promise<void>): void => Deno.test(`${engine.name}: ${rule}`, check);

  test("A new store is empty", () =>
    withNewStore(engine, async (store) => {
      expect(await store.isEmpty()).toBe(true);
      expect(await listed(store)).toEqual([]);
    }));

  test("A key that was added is found by its id and its name, with every field, and its id by the hash of its secret", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("CI runner 7", {
        description: "for the nightly build",
        roles: ["VIEWER", "ADMIN"],
        permissions: ["DOCKER:READ_ANY", "API_KEY:CREATE_ANY", "DOCKER:DELETE_OWN"],
        createdAt: new Date("2026-12-31T23:59:59.999Z"),
        createdBy: "key_of somebody who is gone",
        lastUsedAt: new Date("2027-01-01T00:00:00.001Z"),
      });
      await addAll(store, [key, await newKey("another")]);
      expect(await store.findById(key.id)).toEqual(key);
      expect(await store.findByName(key.name)).toEqual(key);
      expect(await store.findIdBySecretHash(key.secretHash)).toBe(key.id);
      expect(await store.isEmpty()).toBe(false);
    }));

  test("What was never added is not found", () =>
    withNewStore(engine, async (store) => {
      const [known, stranger] = await threeKeys();
      await addAll(store, [known]);
      expect(await store.findById(stranger.id)).toBeUndefined();
      expect(await store.findByName(stranger.name)).toBeUndefined();
      expect(await store.findIdBySecretHash(stranger.secretHash)).toBeUndefined();
    }));

  test("However many secrets are looked up at once, each look-up gets its own answer", () =>
    withNewStore(engine, async (store) => {
      const [known, unknown] = await Promise.all([newKeys(60, "known"), newKeys(60, "unknown")]);
      await addAtOnce(store, known);
      const asked = known.flatMap((key, i) => [key, unknown[i] ?? key, key]);
      const found = await Promise.all(asked.map(({ secretHash }) => store.findIdBySecretHash(secretHash)));
      expect(found).toEqual(known.flatMap(({ id }) => [id, undefined, id]));
    }));

  test("Names that differ only in case are different names", () =>
    withNewStore(engine, async (store) => {
      const [lower, upper, sharp] = await Promise.all([newKey("straße"), newKey("STRASSE"), newKey("STRAßE")]);
      await addAll(store, [lower, upper, sharp]);
      expect(await store.findByName(lower.name)).toEqual(lower);
      expect(await store.findByName(upper.name)).toEqual(upper);
      expect(await store.findByName(sharp.name)).toEqual(sharp);
    }));

  test("Keys are listed in the order of creation, also after one was removed or replaced", () =>
    withNewStore(engine, async (store) => {
      const [[a, b, c], newA, d] = await Promise.all([threeKeys(), newKey("a"), newKey("d")]);
      await addAll(store, [a, b, c]);
      expect(await idsIn(store)).toEqual([a.id, b.id, c.id]);
      await store.add(newA, LOCAL, anyway);
      await store.remove([c.id], LOCAL, anyway);
      await store.add(d, LOCAL, anyway);
      expect(await idsIn(store)).toEqual([b.id, newA.id, d.id]);
    }));

  test("Whoever adds a key is asked about the key that has the name, as it is by then, or about none", () =>
    withNewStore(engine, async (store) => {
      const [old, fresh] = await Promise.all([newKey("deploy"), newKey("deploy")]);
      const { precondition, asked } = listening();
      await store.add(old, LOCAL, precondition);
      const lastUsedAt = new Date("2026-05-05T05:05:05.555Z");
      await store.recordUses(new Map([[old.id, lastUsedAt]]));
      await store.add(fresh, LOCAL, precondition);
      expect(asked).toEqual([undefined, { ...old, lastUsedAt }]);
    }));

  test("A name in use is refused when its key may not go, and that key stays as it is", () =>
    withNewStore(engine, async (store) => {
      const [first, second] = await Promise.all([newKey("deploy"), newKey("deploy")]);
      await addAll(store, [first]);
      const { code, message } = await failureOfPromise(store.add(second, LOCAL, unlessTaken));
      expect(code).toBe("ALREADY_EXISTS");
      expect(message).toContain('"deploy" already exists');
      expect(await listed(store)).toEqual([first]);
      expect(await store.findIdBySecretHash(second.secretHash)).toBeUndefined();
    }));

  test("A free name is refused when there is no precondition, for the reason that was given", () =>
    withNewStore(engine, async (store) => {
      expect(await failureOfPromise(store.add(await newKey("deploy"), LOCAL, noneBut(await newKey("other"))))).toBe(
        REFUSAL,
      );
      expect(await store.isEmpty()).toBe(true);
    }));

  test("The new key takes the place of the old one, whose id and secret are gone", () =>
    withNewStore(engine, async (store) => {
      const [old, other, fresh] = await Promise.all([newKey("deploy"), newKey("other"), newKey("deploy")]);
      await addAll(store, [old, other]);
      await store.add(fresh, LOCAL, anyway);
      expect(await store.findByName(fresh.name)).toEqual(fresh);
      expect(await store.findById(old.id)).toBeUndefined();
      expect(await store.findIdBySecretHash(old.secretHash)).toBeUndefined();
      expect(await store.findIdBySecretHash(fresh.secretHash)).toBe(fresh.id);
      expect(await listed(store)).toEqual([other, fresh]);
    }));

  test("A replacement that cannot be completed leaves the old key in force", () =>
    withNewStore(engine, async (store) => {
      const [old, other] = await Promise.all([newKey("deploy"), newKey("other")]);
      await addAll(store, [old, other]);
      const clash = await newKey("deploy", { secretHash: other.secretHash });
      expect((await failureOfPromise(store.add(clash, LOCAL, anyway))).code).toBe("UNREACHABLE");
      expect(await listed(store)).toEqual([old, other]);
      expect(await store.findIdBySecretHash(old.secretHash)).toBe(old.id);
    }));

  test("Removing takes away the keys that were named and no others", () =>
    withNewStore(engine, async (store) => {
      const [a, b, c] = await threeKeys();
      await addAll(store, [a, b, c]);
      expect(await store.remove([c.id, a.id], LOCAL, anyway)).toBe(true);
      expect(await listed(store)).toEqual([b]);
      expect(await store.findIdBySecretHash(a.secretHash)).toBeUndefined();
      expect(await store.remove([b.id, b.id], LOCAL, anyway)).toBe(true);
      expect(await store.isEmpty()).toBe(true);
    }));

  test("Whoever removes keys is asked about each of them", () =>
    withNewStore(engine, async (store) => {
      const [a, b, c] = await threeKeys();
      await addAll(store, [a, b, c]);
      const { precondition, asked } = listening();
      await store.remove([c.id, a.id, c.id], LOCAL, precondition);
      expect(new Set(asked)).toEqual(new Set([a, c]));
      expect(asked.length).toBe(2);
    }));

  test("When one of the keys may not go, none is removed", () =>
    withNewStore(engine, async (store) => {
      const [a, b, c] = await threeKeys();
      await addAll(store, [a, b, c]);
      expect(await failureOfPromise(store.remove([a.id, b.id, c.id], LOCAL, noneBut(a, c)))).toBe(REFUSAL);
      expect(await listed(store)).toEqual([a, b, c]);
    }));

  test("When one of the keys to remove is not there, none is removed", () =>
    withNewStore(engine, async (store) => {
      const [a, b] = await threeKeys();
      await addAll(store, [a, b]);
      expect(await store.remove([a.id, "key_nowhere", b.id], LOCAL, anyway)).toBe(false);
      expect(await listed(store)).toEqual([a, b]);
    }));

  test("The name of a removed key is free again", () =>
    withNewStore(engine, async (store) => {
      const [old, fresh] = await Promise.all([newKey("deploy"), newKey("deploy")]);
      await addAll(store, [old]);
      await store.remove([old.id], LOCAL, anyway);
      await addAll(store, [fresh]);
      expect(await listed(store)).toEqual([fresh]);
    }));

  test("Descriptions come back as they were given: emoji, line ends, quotes, SQL, 100,000 characters", () =>
    withNewStore(engine, async (store) => {
      const descriptions = [
        "",
        "🚀 for 👩‍💻 in Zoë's office",
        "line\nline\r\n\ttabbed",
        `"'; DROP TABLE api_key; --`,
        "\\ \\x00 %s $1 ? {} null",
        "q\u0308 stays decomposed \u202e",
        "鍵".repeat(100_000),
      ];
      const keys = await Promise.all(descriptions.map((description, i) => newKey(`key ${i}`, { description })));
      await addAll(store, keys);
      expect((await listed(store)).map(({ description }) => description)).toEqual(descriptions);
    }));

  test("A name of 255 characters of four bytes each is a name like any other", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("𝒜".repeat(255));
      await addAll(store, [key]);
      expect(await store.findByName(key.name)).toEqual(key);
    }));

  test("When a key was last used is recorded, and never put back", () =>
    withNewStore(engine, async (store) => {
      const [a, b, c] = await threeKeys();
      await addAll(store, [a, b, c]);
      const [early, late] = [new Date("2026-05-05T05:05:05.004Z"), new Date("2026-05-05T05:05:05.005Z")];
      await store.recordUses(new Map([[a.id, early], [b.id, late]]));
      await store.recordUses(new Map([[a.id, late], [b.id, early]]));
      expect(await listed(store)).toEqual([{ ...a, lastUsedAt: late }, { ...b, lastUsedAt: late }, c]);
    }));

  test("Keys that are gone are passed over when uses are recorded", () =>
    withNewStore(engine, async (store) => {
      const [gone, left] = await threeKeys();
      await addAll(store, [gone, left]);
      await store.remove([gone.id], LOCAL, anyway);
      const lastUsedAt = new Date("2026-05-05T05:05:05.555Z");
      await store.recordUses(new Map([[gone.id, lastUsedAt], ["key_nowhere", lastUsedAt], [left.id, lastUsedAt]]));
      await store.recordUses(new Map());
      expect(await listed(store)).toEqual([{ ...left, lastUsedAt }]);
    }));

  test("The keys of an owner are itself and those that it created, in the order of creation", () =>
    withNewStore(engine, async (store) => {
      const owner = await newKey("owner");
      const children = await Promise.all(["z", "m", "a"].map((name) => newKey(name, { createdBy: owner.id })));
      const stranger = await newKey("stranger");
      const others = await Promise.all([newKey("local"), newKey("theirs", { createdBy: stranger.id })]);
      const [first, ...rest] = children;
      if (first === undefined) throw new Error("three children");
      await addAll(store, [first, stranger, owner, ...others, ...rest]);
      expect(await listed(store, owner.id)).toEqual([first, owner, ...rest]);
      expect(await listed(store, first.id)).toEqual([first]);
      expect(await listed(store, "key_nowhere")).toEqual([]);
    }));

  test("The keys that an owner created are its own after it is gone", () =>
    withNewStore(engine, async (store) => {
      const owner = await newKey("owner");
      const child = await newKey("child", { createdBy: owner.id });
      await addAll(store, [owner, child]);
      await store.remove([owner.id], LOCAL, anyway);
      expect(await listed(store, owner.id)).toEqual([child]);
    }));

  test("A key that is not as it was written makes the store UNREACHABLE, by the id of the key", () =>
    withNewStore(engine, async (store, place) => {
      const key = await newKey("deploy");
      await addAll(store, [key]);
      await place.execute("UPDATE api_key SET roles = 'BOSS'");
      const refused = [store.findById(key.id), store.findByName(key.name), listed(store)];
      for (const { code, message } of await Promise.all(refused.map(failureOfPromise))) {
        expect(code).toBe("UNREACHABLE");
        expect(message).toContain(key.id);
      }
      expect(await failureOfPromise(store.add(await newKey("deploy"), LOCAL, anyway))).toBeInstanceOf(Failure);
      expect(await store.findIdBySecretHash(key.secretHash)).toBe(key.id);
    }));

  test("2,500 keys are all listed, each once and in the order of creation, whether all are asked for or an owner's", () =>
    withNewStore(engine, async (store) => {
      const owner = await newKey("owner");
      const keys = [owner, ...(await newKeys(2_500)).map((key) => ({ ...key, createdBy: owner.id }))];
      await addAtOnce(store, keys);
      const ids = await idsIn(store);
      expect(ids.toSorted()).toEqual(keys.map(({ id }) => id).toSorted());
      expect((await listed(store, owner.id)).map(({ id }) => id)).toEqual(ids);
    }));

  test("Keys outlive the store that they were added through", () =>
    engine.withNewPlace(async (place) => {
      const key = await newKey("deploy", { description: "stays", permissions: ["LOGS:READ_ANY"] });
      await withStore(place, (store) => addAll(store, [key]));
      await withStore(place, async (store) => expect(await listed(store)).toEqual([key]));
    }));

  test("Two stores on the same data see each other's changes at once", () =>
    withTwoStores(engine, async (one, two) => {
      const [[a, b], newB] = await Promise.all([threeKeys(), newKey("b")]);
      await one.add(a, LOCAL, unlessTaken);
      expect(await two.findByName(a.name)).toEqual(a);
      await two.add(b, LOCAL, unlessTaken);
      expect(await listed(one)).toEqual([a, b]);
      expect((await failureOfPromise(one.add(newB, LOCAL, unlessTaken))).code).toBe("ALREADY_EXISTS");
      await one.add(newB, LOCAL, anyway);
      expect(await two.findIdBySecretHash(b.secretHash)).toBeUndefined();
      expect(await two.findIdBySecretHash(newB.secretHash)).toBe(newB.id);
      await two.remove([a.id], LOCAL, anyway);
      expect(await one.findById(a.id)).toBeUndefined();
    }));

  test("Whatever is done in whatever order, the store holds what a simple list of keys would hold", () => {
    const anyName = fc.constantFrom("a", "b", "c");
    const anyStep = fc.oneof(
      fc.record({ what: fc.constant("add"), name: anyName, overwrite: fc.boolean() }),
      fc.record({ what: fc.constant("remove"), name: anyName, overwrite: fc.constant(false) }),
    );
    return withNewStore(engine, (store) =>
      fc.assert(
        fc.asyncProperty(fc.array(anyStep, { maxLength: 12 }), async (steps) => {
          await store.remove(await idsIn(store), LOCAL, anyway);
          const expected = await steps.reduce(async (before, { what, name, overwrite }) => {
            const keys = await before;
            const holder = keys.find((key) => key.name === name);
            if (what === "remove") {
              expect(await store.remove([holder?.id ?? "key_nowhere"], LOCAL, anyway)).toBe(holder !== undefined);
              return keys.filter((key) => key !== holder);
            }
            const key = await newKey(name);
            if (holder !== undefined && !overwrite) {
              expect((await failureOfPromise(store.add(key, LOCAL, unlessTaken))).code).toBe("ALREADY_EXISTS");
              return keys;
            }
            await store.add(key, LOCAL, overwrite ? anyway : unlessTaken);
            return [...keys.filter((other) => other !== holder), key];
          }, Promise.resolve<readonly StoredKey[]>([]));
          expect(await listed(store)).toEqual(expected);
          expect(await store.isEmpty()).toBe(expected.length === 0);
          expect(await store.findByName(parseName("a"))).toEqual(expected.find((key) => key.name === "a"));
        }),
        { numRuns: 40 },
      ));
  });
}
