/** The guarantees of `KeyStore` on the SQLite store. */
import { expect } from "expect";
import fc from "fast-check";
import { parseName } from "../../src/apikey/name.ts";
import type { KeyStore, StoredKey } from "../../src/store/key_store.ts";
import { failureOfPromise } from "../apikey/failure_of.ts";
import { newKey } from "./stored_key.ts";
import { inTemporaryDirectory, withNewStore, withStoreIn } from "./temporary_store.ts";

async function idsIn(store: KeyStore): Promise<readonly string[]> {
  return (await store.list()).map(({ id }) => id);
}

Deno.test("A new store is empty", () =>
  withNewStore(async (store) => {
    expect(await store.isEmpty()).toBe(true);
    expect(await store.list()).toEqual([]);
  }));

Deno.test("A key that was added is found by its id, its name and the hash of its secret, with every field", () =>
  withNewStore(async (store) => {
    const key = await newKey("CI runner 7", {
      description: "for the nightly build",
      roles: ["VIEWER", "ADMIN"],
      permissions: ["DOCKER:READ_ANY", "API_KEY:CREATE_ANY", "DOCKER:DELETE_OWN"],
    });
    await store.add(key, false);
    await store.add(await newKey("another"), false);
    expect(await store.findById(key.id)).toEqual(key);
    expect(await store.findByName(key.name)).toEqual(key);
    expect(await store.findBySecretHash(key.secretHash)).toEqual(key);
    expect(await store.isEmpty()).toBe(false);
  }));

Deno.test("What was never added is not found", () =>
  withNewStore(async (store) => {
    const [key, stranger] = await Promise.all([newKey("known"), newKey("unknown")]);
    await store.add(key, false);
    expect(await store.findById(stranger.id)).toBeUndefined();
    expect(await store.findByName(stranger.name)).toBeUndefined();
    expect(await store.findBySecretHash(stranger.secretHash)).toBeUndefined();
  }));

Deno.test("Names that differ only in case are different names", () =>
  withNewStore(async (store) => {
    const [lower, upper] = await Promise.all([newKey("deploy"), newKey("DEPLOY")]);
    await store.add(lower, false);
    await store.add(upper, false);
    expect(await store.findByName(lower.name)).toEqual(lower);
    expect(await store.findByName(upper.name)).toEqual(upper);
  }));

Deno.test("Keys are listed in the order of creation, also after one was removed or replaced", () =>
  withNewStore(async (store) => {
    const [a, b, c, newA, d] = await Promise.all(["a", "b", "c", "a", "d"].map((name) => newKey(name)));
    if (!a || !b || !c || !newA || !d) throw new Error("five keys");
    await store.add(a, false);
    await store.add(b, false);
    await store.add(c, false);
    expect(await idsIn(store)).toEqual([a.id, b.id, c.id]);
    await store.add(newA, true);
    await store.remove([c.id]);
    await store.add(d, false);
    expect(await idsIn(store)).toEqual([b.id, newA.id, d.id]);
  }));

Deno.test("A name in use is refused as ALREADY_EXISTS, and the key that has it stays as it is", () =>
  withNewStore(async (store) => {
    const [first, second] = await Promise.all([newKey("deploy"), newKey("deploy")]);
    await store.add(first, false);
    const { code, message } = await failureOfPromise(store.add(second, false));
    expect(code).toBe("ALREADY_EXISTS");
    expect(message).toContain('"deploy" already exists');
    expect(message).toContain("--overwrite");
    expect(await store.list()).toEqual([first]);
  }));

Deno.test("With overwrite the new key takes the place of the old one, whose id and secret are gone", () =>
  withNewStore(async (store) => {
    const [old, other, fresh] = await Promise.all([newKey("deploy"), newKey("other"), newKey("deploy")]);
    await store.add(old, false);
    await store.add(other, false);
    await store.add(fresh, true);
    expect(await store.findByName(fresh.name)).toEqual(fresh);
    expect(await store.findById(old.id)).toBeUndefined();
    expect(await store.findBySecretHash(old.secretHash)).toBeUndefined();
    expect(await store.list()).toEqual([other, fresh]);
  }));

Deno.test("An overwrite that cannot be completed leaves the old key in force", () =>
  withNewStore(async (store) => {
    const [old, other] = await Promise.all([newKey("deploy"), newKey("other")]);
    await store.add(old, false);
    await store.add(other, false);
    const clash = await newKey("deploy", { secretHash: other.secretHash });
    await failureOfPromise(store.add(clash, true));
    expect(await store.list()).toEqual([old, other]);
  }));

Deno.test("With overwrite a name that is free is simply taken", () =>
  withNewStore(async (store) => {
    const key = await newKey("deploy");
    await store.add(key, true);
    expect(await store.list()).toEqual([key]);
  }));

Deno.test("Removing takes away the keys that were named and no others", () =>
  withNewStore(async (store) => {
    const [a, b, c] = await Promise.all([newKey("a"), newKey("b"), newKey("c")]);
    await store.add(a, false);
    await store.add(b, false);
    await store.add(c, false);
    expect(await store.remove([a.id, c.id])).toBe(true);
    expect(await store.list()).toEqual([b]);
    expect(await store.remove([b.id, b.id])).toBe(true);
    expect(await store.isEmpty()).toBe(true);
  }));

Deno.test("When one of the keys to remove is not there, none is removed", () =>
  withNewStore(async (store) => {
    const [a, b] = await Promise.all([newKey("a"), newKey("b")]);
    await store.add(a, false);
    await store.add(b, false);
    expect(await store.remove([a.id, "key_nowhere", b.id])).toBe(false);
    expect(await store.list()).toEqual([a, b]);
  }));

Deno.test("The name of a removed key is free again", () =>
  withNewStore(async (store) => {
    const [old, fresh] = await Promise.all([newKey("deploy"), newKey("deploy")]);
    await store.add(old, false);
    await store.remove([old.id]);
    await store.add(fresh, false);
    expect(await store.list()).toEqual([fresh]);
  }));

Deno.test("Descriptions come back as they were given: emoji, line ends, quotes, SQL, 100,000 characters", () =>
  withNewStore(async (store) => {
    const descriptions = [
      "",
      "🚀 for 👩‍💻 in Zoë's office",
      "line\nline\r\n\ttabbed",
      `"'; DROP TABLE api_key; --`,
      "q\u0308 stays decomposed \u202e",
      "鍵".repeat(100_000),
    ];
    const keys = await Promise.all(descriptions.map((description, i) => newKey(`key ${i}`, { description })));
    await Promise.all(keys.map((key) => store.add(key, false)));
    expect((await store.list()).map(({ description }) => description)).toEqual(descriptions);
  }));

Deno.test("Keys outlive the store that they were added through", () =>
  inTemporaryDirectory(async (directory) => {
    const key = await newKey("deploy", { description: "stays", permissions: ["LOGS:READ_ANY"] });
    await withStoreIn(directory, (store) => store.add(key, false));
    await withStoreIn(directory, async (store) => expect(await store.list()).toEqual([key]));
  }));

Deno.test("Two stores on one directory see each other's changes at once", () =>
  withNewStore((one, directory) =>
    withStoreIn(directory, async (two) => {
      const [a, b, newB] = await Promise.all([newKey("a"), newKey("b"), newKey("b")]);
      await one.add(a, false);
      expect(await two.findByName(a.name)).toEqual(a);
      await two.add(b, false);
      expect(await one.list()).toEqual([a, b]);
      expect((await failureOfPromise(one.add(newB, false))).code).toBe("ALREADY_EXISTS");
      await one.add(newB, true);
      expect(await two.findBySecretHash(b.secretHash)).toBeUndefined();
      await two.remove([a.id]);
      expect(await one.findById(a.id)).toBeUndefined();
    })
  ));

Deno.test("Whatever is done in whatever order, the store holds what a simple list of keys would hold", () => {
  const anyName = fc.constantFrom("a", "b", "c");
  const anyStep = fc.oneof(
    fc.record({ what: fc.constant("add"), name: anyName, overwrite: fc.boolean() }),
    fc.record({ what: fc.constant("remove"), name: anyName, overwrite: fc.constant(false) }),
  );
  return withNewStore((store) =>
    fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 12 }), async (steps) => {
        await store.remove(await idsIn(store));
        const expected = await steps.reduce(async (before, { what, name, overwrite }) => {
          const keys = await before;
          const holder = keys.find((key) => key.name === name);
          if (what === "remove") {
            expect(await store.remove([holder?.id ?? "key_nowhere"])).toBe(holder !== undefined);
            return keys.filter((key) => key !== holder);
          }
          const key = await newKey(name);
          if (holder !== undefined && !overwrite) {
            expect((await failureOfPromise(store.add(key, false))).code).toBe("ALREADY_EXISTS");
            return keys;
          }
          await store.add(key, overwrite);
          return [...keys.filter((other) => other !== holder), key];
        }, Promise.resolve<readonly StoredKey[]>([]));
        expect(await store.list()).toEqual(expected);
        expect(await store.isEmpty()).toBe(expected.length === 0);
        expect(await store.findByName(parseName("a"))).toEqual(expected.find((key) => key.name === "a"));
      }),
      { numRuns: 40 },
    )
  );
});
