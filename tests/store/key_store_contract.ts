/** The tests about keys that every `KeyStore` must pass. They run on SQLite and on PostgreSQL. */
import { expect } from "expect";
import fc from "fast-check";
import { Failure } from "../../src/apikey/failure.ts";
import { parseName } from "../../src/apikey/name.ts";
import type { KeyStore, Precondition } from "../../src/store/key_store.ts";
import type { StoredKey } from "../../src/store/stored_key.ts";
import { failureOfPromise } from "../apikey/failure_of.ts";
import { addAll, addDeployer, addInParallel, allowAny, listKeys, LOCAL, rejectTakenName, REMOTE } from "./changes.ts";
import { type Engine, withNewStore, withTwoStores } from "./engine.ts";
import { activeState, newKey, newKeys } from "./stored_key.ts";

async function idsIn(store: KeyStore): Promise<readonly string[]> {
  return (await listKeys(store)).map(({ id }) => id);
}

function threeKeys(): Promise<readonly [StoredKey, StoredKey, StoredKey]> {
  return Promise.all([newKey("a"), newKey("b"), newKey("c")]);
}

/** Returns a precondition that allows every change and records its calls. */
function recordCalls(): { readonly precondition: Precondition; readonly calls: (StoredKey | undefined)[] } {
  const calls: (StoredKey | undefined)[] = [];
  return { precondition: (held) => void calls.push(held), calls };
}

const REJECTION = new Failure("FORBIDDEN", "not this one");

/** Returns a precondition that allows only the removal of these keys. */
function allowOnly(...allowed: readonly (StoredKey | undefined)[]): Precondition {
  return (held) => {
    if (!allowed.some((key) => key?.id === held?.id)) throw REJECTION;
  };
}

/** Registers the tests for one database engine. */
export function testKeys(engine: Engine): void {
  const test = (rule: string, check: () => Promise<void>): void => Deno.test(`${engine.name}: ${rule}`, check);

  test("A new store is empty", () =>
    withNewStore(engine, async (store) => {
      expect(await store.isEmpty()).toBe(true);
      expect(await listKeys(store)).toEqual([]);
    }));

  test("findById and findByName return a key with all of its fields, and findBySecretHash returns its id and revision", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("CI runner 7", {
        description: "for the nightly build",
        roles: ["VIEWER", "ADMIN"],
        permissions: ["DOCKER:READ_ANY", "API_KEY:CREATE_ANY", "DOCKER:DELETE_OWN"],
        createdAt: new Date("2026-12-31T23:59:59.999Z"),
        createdBy: "key_deleted",
        lastUsedAt: new Date("2027-01-01T00:00:00.001Z"),
      });
      await addAll(store, [key, await newKey("another")]);
      expect(await store.findById(key.id)).toEqual(key);
      expect(await store.findByName(key.name)).toEqual(key);
      expect(await store.findBySecretHash(key.secretHash)).toEqual(activeState(key));
      expect(await store.isEmpty()).toBe(false);
      const missing = await newKey("missing");
      expect(await store.findById(missing.id)).toBeUndefined();
      expect(await store.findByName(missing.name)).toBeUndefined();
      expect(await store.findBySecretHash(missing.secretHash)).toBeUndefined();
    }));

  test("countKeys counts the keys by state and finds the next expiry of an active key", () =>
    withNewStore(engine, async (store) => {
      expect(await store.countKeys()).toEqual({ active: 0, disabled: 0, expired: 0, nextExpiry: null });
      await addAll(store, [await newKey("lasting")]);
      expect(await store.countKeys()).toEqual({ active: 1, disabled: 0, expired: 0, nextExpiry: null });
      const [past, soon, later] = [-60_000, 3_600_000, 7_200_000].map((offset) => new Date(Date.now() + offset));
      const keys = await Promise.all([
        newKey("later", { expiresAt: later ?? null }),
        newKey("soon", { expiresAt: soon ?? null }),
        newKey("expired", { expiresAt: past ?? null }),
        newKey("disabled", { enabled: false, expiresAt: new Date(Date.now() + 60_000) }),
        newKey("disabled and expired", { enabled: false, expiresAt: past ?? null }),
      ]);
      await addAll(store, keys);
      expect(await store.countKeys()).toEqual({ active: 3, disabled: 2, expired: 1, nextExpiry: soon });
    }));

  test("Each of many concurrent look-ups gets its own result", () =>
    withNewStore(engine, async (store) => {
      const [known, unknown] = await Promise.all([newKeys(60, "known"), newKeys(60, "unknown")]);
      await addInParallel(store, known);
      const keys = known.flatMap((key, i) => [key, unknown[i] ?? key, key]);
      const found = await Promise.all(
        keys.map(async ({ secretHash }) => (await store.findBySecretHash(secretHash))?.id),
      );
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

  test("list returns keys in the order of creation, even after removals and replacements", () =>
    withNewStore(engine, async (store) => {
      const [[a, b, c], newA, d] = await Promise.all([threeKeys(), newKey("a"), newKey("d")]);
      await addAll(store, [a, b, c]);
      expect(await idsIn(store)).toEqual([a.id, b.id, c.id]);
      await store.add(newA, LOCAL, allowAny);
      await store.remove([c.id], LOCAL, allowAny);
      await store.add(d, LOCAL, allowAny);
      expect(await idsIn(store)).toEqual([b.id, newA.id, d.id]);
    }));

  test("The precondition of add gets the current key with the same name, or undefined", () =>
    withNewStore(engine, async (store) => {
      const [old, fresh] = await Promise.all([newKey("deploy"), newKey("deploy")]);
      const { precondition, calls } = recordCalls();
      await store.add(old, LOCAL, precondition);
      const lastUsedAt = new Date("2026-05-05T05:05:05.555Z");
      await store.recordUses(new Map([[old.id, lastUsedAt]]));
      await store.add(fresh, LOCAL, precondition);
      expect(calls).toEqual([undefined, { ...old, lastUsedAt }]);
    }));

  test("If the precondition rejects a replacement, the existing key is unchanged", () =>
    withNewStore(engine, async (store) => {
      const [first, second] = await Promise.all([newKey("deploy"), newKey("deploy")]);
      await addAll(store, [first]);
      const { code, message } = await failureOfPromise(store.add(second, LOCAL, rejectTakenName));
      expect(code).toBe("ALREADY_EXISTS");
      expect(message).toContain('"deploy" already exists');
      expect(await listKeys(store)).toEqual([first]);
      expect(await store.findBySecretHash(second.secretHash)).toBeUndefined();
    }));

  test("If a replacement fails, the old key stays valid", () =>
    withNewStore(engine, async (store) => {
      const [old, other] = await Promise.all([newKey("deploy"), newKey("other")]);
      await addAll(store, [old, other]);
      const clash = await newKey("deploy", { secretHash: other.secretHash });
      expect((await failureOfPromise(store.add(clash, LOCAL, allowAny))).code).toBe("UNREACHABLE");
      expect(await listKeys(store)).toEqual([old, other]);
      expect(await store.findBySecretHash(old.secretHash)).toEqual(activeState(old));
    }));

  test("remove deletes only the given keys", () =>
    withNewStore(engine, async (store) => {
      const [a, b, c] = await threeKeys();
      await addAll(store, [a, b, c]);
      expect(await store.remove([c.id, a.id], LOCAL, allowAny)).toBe(true);
      expect(await listKeys(store)).toEqual([b]);
      expect(await store.findBySecretHash(a.secretHash)).toBeUndefined();
      expect(await store.remove([b.id, b.id], LOCAL, allowAny)).toBe(true);
      expect(await store.isEmpty()).toBe(true);
    }));

  test("The precondition of remove gets each key once", () =>
    withNewStore(engine, async (store) => {
      const [a, b, c] = await threeKeys();
      await addAll(store, [a, b, c]);
      const { precondition, calls } = recordCalls();
      await store.remove([c.id, a.id, c.id], LOCAL, precondition);
      expect(new Set(calls)).toEqual(new Set([a, c]));
      expect(calls.length).toBe(2);
    }));

  test("The precondition of remove gets undefined and the id if no key has the id, and can reject the removal", () =>
    withNewStore(engine, async (store) => {
      const [a, b] = await threeKeys();
      await addAll(store, [a, b]);
      const calls: unknown[] = [];
      await store.remove([b.id, "key_nowhere", a.id], LOCAL, (...call) => void calls.push(call));
      expect(calls).toEqual([[b, null, b.id], [undefined, null, "key_nowhere"], [a, null, a.id]]);
      expect(await failureOfPromise(store.remove([a.id, "key_nowhere"], LOCAL, allowOnly(a)))).toBe(REJECTION);
    }));

  test("If the precondition rejects one of the keys, remove deletes no key", () =>
    withNewStore(engine, async (store) => {
      const [a, b, c] = await threeKeys();
      await addAll(store, [a, b, c]);
      expect(await failureOfPromise(store.remove([a.id, b.id, c.id], LOCAL, allowOnly(a, c)))).toBe(REJECTION);
      expect(await listKeys(store)).toEqual([a, b, c]);
    }));

  test("Unusual descriptions and the longest name are stored unchanged", () =>
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
      expect((await listKeys(store)).map(({ description }) => description)).toEqual(descriptions);
      const longest = await newKey("𝒜".repeat(255));
      await addAll(store, [longest]);
      expect(await store.findByName(longest.name)).toEqual(longest);
    }));

  test("recordUses records the last use of a key and never replaces it with an earlier use", () =>
    withNewStore(engine, async (store) => {
      const [a, b, c] = await threeKeys();
      await addAll(store, [a, b, c]);
      const [early, late] = [new Date("2026-05-05T05:05:05.004Z"), new Date("2026-05-05T05:05:05.005Z")];
      await store.recordUses(new Map([[a.id, early], [b.id, late]]));
      await store.recordUses(new Map([[a.id, late], [b.id, early]]));
      expect(await listKeys(store)).toEqual([{ ...a, lastUsedAt: late }, { ...b, lastUsedAt: late }, c]);
    }));

  test("recordUses ignores keys that do not exist", () =>
    withNewStore(engine, async (store) => {
      const [gone, left] = await threeKeys();
      await addAll(store, [gone, left]);
      await store.remove([gone.id], LOCAL, allowAny);
      const lastUsedAt = new Date("2026-05-05T05:05:05.555Z");
      await store.recordUses(new Map([[gone.id, lastUsedAt], ["key_nowhere", lastUsedAt], [left.id, lastUsedAt]]));
      await store.recordUses(new Map());
      expect(await listKeys(store)).toEqual([{ ...left, lastUsedAt }]);
    }));

  test("list with an owner returns the owner and the keys that it created, in the order of creation", () =>
    withNewStore(engine, async (store) => {
      const owner = await newKey("owner");
      const children = await Promise.all(["z", "m", "a"].map((name) => newKey(name, { createdBy: owner.id })));
      const stranger = await newKey("stranger");
      const others = await Promise.all([newKey("local"), newKey("theirs", { createdBy: stranger.id })]);
      const [first, ...rest] = children;
      if (first === undefined) throw new Error("expected three children");
      await addAll(store, [first, stranger, owner, ...others, ...rest]);
      expect(await listKeys(store, owner.id)).toEqual([first, owner, ...rest]);
      expect(await listKeys(store, first.id)).toEqual([first]);
      expect(await listKeys(store, "key_nowhere")).toEqual([]);
    }));

  test("list with an owner returns the keys that the owner created, even after the owner is removed", () =>
    withNewStore(engine, async (store) => {
      const owner = await newKey("owner");
      const child = await newKey("child", { createdBy: owner.id });
      await addAll(store, [owner, child]);
      await store.remove([owner.id], LOCAL, allowAny);
      expect(await listKeys(store, owner.id)).toEqual([child]);
    }));

  test("If a key replaces itself, its successor becomes the creator of the keys that it created, and their revision rises", () =>
    withNewStore(engine, async (store) => {
      await addDeployer(store);
      const createdBy = REMOTE.actor?.id ?? "";
      const children = await Promise.all(["z", "a"].map((name) => newKey(name, { createdBy })));
      const others = await Promise.all([newKey("local"), newKey("theirs", { createdBy: "key_other" })]);
      const successor = await newKey("deployer", { createdBy });
      await addAll(store, [...children, ...others]);
      await store.add(successor, REMOTE, allowAny);
      const passedOn = children.map((child) => ({ ...child, createdBy: successor.id, revision: 2 }));
      expect(await listKeys(store)).toEqual([...passedOn, ...others, successor]);
    }));

  test("If a key or the local caller replaces another key, the keys that it created keep their creator", () =>
    withNewStore(engine, async (store) => {
      const owner = await newKey("owner");
      const child = await newKey("child", { createdBy: owner.id });
      await addDeployer(store);
      await addAll(store, [owner, child]);
      const fresh = await Promise.all([newKey("owner"), newKey("owner")]);
      await store.add(fresh[0], REMOTE, allowAny);
      expect(await store.findById(child.id)).toEqual(child);
      const grandchild = await newKey("grandchild", { createdBy: fresh[0].id });
      await addAll(store, [grandchild]);
      await store.add(fresh[1], LOCAL, allowAny);
      expect((await listKeys(store)).slice(1)).toEqual([child, grandchild, fresh[1]]);
    }));

  test("Reading a damaged key fails with UNREACHABLE, and the message contains the id of the key", () =>
    withNewStore(engine, async (store, location) => {
      const key = await newKey("deploy");
      await addAll(store, [key]);
      await location.execute("UPDATE api_key SET roles = 'BOSS'");
      const reads = [store.findById(key.id), store.findByName(key.name), listKeys(store)];
      for (const { code, message } of await Promise.all(reads.map(failureOfPromise))) {
        expect(code).toBe("UNREACHABLE");
        expect(message).toContain(key.id);
      }
      expect(await failureOfPromise(store.add(await newKey("deploy"), LOCAL, allowAny))).toBeInstanceOf(Failure);
      expect(await store.findBySecretHash(key.secretHash)).toEqual(activeState(key));
    }));

  test("If the keys fill more than one page, list returns each key once, in the same order with and without an owner", () =>
    withNewStore(engine, async (store) => {
      const owner = await newKey("owner");
      const keys = [owner, ...(await newKeys(1_100)).map((key) => ({ ...key, createdBy: owner.id }))];
      await addInParallel(store, keys);
      const ids = await idsIn(store);
      expect(ids.toSorted()).toEqual(keys.map(({ id }) => id).toSorted());
      expect((await listKeys(store, owner.id)).map(({ id }) => id)).toEqual(ids);
    }));

  test("Two stores on the same data see each other's changes immediately", () =>
    withTwoStores(engine, async (one, two) => {
      const [[a, b], newB] = await Promise.all([threeKeys(), newKey("b")]);
      await one.add(a, LOCAL, rejectTakenName);
      expect(await two.findByName(a.name)).toEqual(a);
      await two.add(b, LOCAL, rejectTakenName);
      expect(await listKeys(one)).toEqual([a, b]);
      expect((await failureOfPromise(one.add(newB, LOCAL, rejectTakenName))).code).toBe("ALREADY_EXISTS");
      await one.add(newB, LOCAL, allowAny);
      expect(await two.findBySecretHash(b.secretHash)).toBeUndefined();
      expect(await two.findBySecretHash(newB.secretHash)).toEqual(activeState(newB));
      await two.remove([a.id], LOCAL, allowAny);
      expect(await one.findById(a.id)).toBeUndefined();
    }));

  test("After any sequence of changes, the store holds the same keys as a simple array with the same changes", () => {
    const anyName = fc.constantFrom("a", "b", "c");
    const anyStep = fc.oneof(
      fc.record({ what: fc.constant("add"), name: anyName, overwrite: fc.boolean() }),
      fc.record({ what: fc.constant("remove"), name: anyName, overwrite: fc.constant(false) }),
    );
    return withNewStore(engine, (store) =>
      fc.assert(
        fc.asyncProperty(fc.array(anyStep, { maxLength: 12 }), async (steps) => {
          await store.remove(await idsIn(store), LOCAL, allowAny);
          const expected = await steps.reduce(async (before, { what, name, overwrite }) => {
            const keys = await before;
            const holder = keys.find((key) => key.name === name);
            if (what === "remove") {
              expect(await store.remove([holder?.id ?? "key_nowhere"], LOCAL, allowAny)).toBe(holder !== undefined);
              return keys.filter((key) => key !== holder);
            }
            const key = await newKey(name);
            if (holder !== undefined && !overwrite) {
              expect((await failureOfPromise(store.add(key, LOCAL, rejectTakenName))).code).toBe("ALREADY_EXISTS");
              return keys;
            }
            await store.add(key, LOCAL, overwrite ? allowAny : rejectTakenName);
            return [...keys.filter((other) => other !== holder), key];
          }, Promise.resolve<readonly StoredKey[]>([]));
          expect(await listKeys(store)).toEqual(expected);
          expect(await store.isEmpty()).toBe(expected.length === 0);
          expect(await store.findByName(parseName("a"))).toEqual(expected.find((key) => key.name === "a"));
        }),
        { numRuns: 40 },
      ));
  });
}
