/** The tests about custom resources that every `KeyStore` must pass. They run on SQLite and on PostgreSQL. */
import { expect } from "expect";
import { Failure } from "../../src/apikey/failure.ts";
import type { Permission } from "../../src/apikey/permission.ts";
import type { KeyStore } from "../../src/store/key_store.ts";
import type { StoredKey } from "../../src/store/stored_key.ts";
import { failureOfPromise } from "../apikey/failure_of.ts";
import { readTrail } from "./audit_trail_contract.ts";
import { addAll, addDeployer, allowAny, inSequence, LOCAL, rejectTakenName, REMOTE } from "./changes.ts";
import { type Engine, withNewStore, withTwoStores } from "./engine.ts";
import { newKey } from "./stored_key.ts";
import { FUTURE, PAST, rotateTo, set } from "./update_contract.ts";

/** How many times each race runs. */
const ROUNDS = 40;

const UPDATE = { action: "UPDATE" } as const;

function add(store: KeyStore, name: string, description: string | null = null): Promise<void> {
  return store.addResource({ name, description }, LOCAL, allowAny);
}

async function namesIn(store: KeyStore): Promise<readonly string[]> {
  return (await store.listResources()).resources.map(({ name }) => name);
}

async function revisionIn(store: KeyStore): Promise<number> {
  return (await store.listResources()).revision;
}

/** Returns "done", or the code of the failure of a change. */
function outcomeOf(change: Promise<unknown>): Promise<string> {
  return change.then(() => "done", (error) => {
    if (error instanceof Failure) return error.code;
    throw error;
  });
}

function keyWith(name: string, ...permissions: readonly Permission[]): Promise<StoredKey> {
  return newKey(name, { roles: [], permissions });
}

/** Registers the tests for one database engine. */
export function testResources(engine: Engine): void {
  const test = (rule: string, check: () => Promise<void>): void => Deno.test(`${engine.name}: ${rule}`, check);

  test("Resources are listed by name, and each change increases the revision", () =>
    withTwoStores(engine, async (one, two) => {
      expect(await two.listResources()).toEqual({ revision: 0, resources: [] });
      await add(one, "ORDERS", "what customers buy");
      await add(one, "A_1");
      await add(one, "A0");
      expect(await two.listResources()).toEqual({
        revision: 3,
        resources: [
          { name: "A0", description: null },
          { name: "A_1", description: null },
          { name: "ORDERS", description: "what customers buy" },
        ],
      });
      await two.removeResource("A_1", LOCAL, allowAny);
      expect(await namesIn(one)).toEqual(["A0", "ORDERS"]);
      expect(await revisionIn(one)).toBe(4);
    }));

  test("The look-up of a secret returns the revision of the resources, for the secret before a rotation too", () =>
    withTwoStores(engine, async (one, two) => {
      const [key, fresh] = [await newKey("deploy"), await newKey("fresh")];
      await addAll(one, [key]);
      await one.update({ id: key.id }, LOCAL, { action: "ROTATE" }, rotateTo(fresh, FUTURE));
      const states = (): Promise<readonly unknown[]> =>
        Promise.all([key, fresh].map(({ secretHash }) => two.findBySecretHash(secretHash)));
      const statesAt = (resourcesRevision: number): readonly unknown[] =>
        [true, false].map((isPrevious) => expect.objectContaining({ isPrevious, resourcesRevision }));
      expect(await states()).toEqual(statesAt(0));
      await add(one, "ORDERS");
      expect(await states()).toEqual(statesAt(1));
    }));

  test("Adding a resource again fails with ALREADY_EXISTS, and the message says if its description is different", () =>
    withNewStore(engine, async (store) => {
      await add(store, "ORDERS", "one");
      const [same, other] = await Promise.all(
        ["one", "two"].map((text) => failureOfPromise(add(store, "ORDERS", text))),
      );
      expect([same?.code, other?.code]).toEqual(["ALREADY_EXISTS", "ALREADY_EXISTS"]);
      expect(same?.message).toBe("The resource ORDERS already exists.");
      expect(other?.message).toMatch(
        /Its description is different, and cannot be changed\. If no key .* remove the resource/,
      );
      expect(await store.listResources()).toEqual({
        revision: 1,
        resources: [{ name: "ORDERS", description: "one" }],
      });
    }));

  test("A store has at most 1,000 resources, even if two processes add the last one at once", () =>
    withTwoStores(engine, async (one, two) => {
      await add(one, "R0");
      await inSequence(Array(998).keys(), (i) => add(one, `R${i + 1}`));
      const outcomes = await Promise.all([outcomeOf(add(one, "X")), outcomeOf(add(two, "Y"))]);
      expect(outcomes.toSorted()).toEqual(["FAILED", "done"]);
      expect(await namesIn(one)).toHaveLength(1000);
      expect((await failureOfPromise(add(one, "Z"))).message).toContain("already 1,000 custom resources");
      await one.removeResource("R0", LOCAL, allowAny);
      await add(two, "Z");
    }));

  test("Removing a resource that does not exist fails with NOT_FOUND and changes nothing", () =>
    withNewStore(engine, async (store) => {
      await add(store, "ORDERS");
      const { code, message } = await failureOfPromise(store.removeResource("ORDER", LOCAL, allowAny));
      expect([code, message]).toEqual(["NOT_FOUND", expect.stringContaining('No resource found with name: "ORDER"')]);
      expect((await failureOfPromise(store.removeResource("DOCKER", LOCAL, allowAny))).message).toContain("built in");
      expect(await store.listResources()).toMatchObject({ revision: 1, resources: [{ name: "ORDERS" }] });
    }));

  test("A resource that a key names cannot be removed, and the message names up to three keys and the command to run", () =>
    withNewStore(engine, async (store) => {
      await inSequence(["ORDERS", "ORDER", "MY_ORDERS", "FREE"], (name) => add(store, name));
      const keys = await Promise.all([
        newKey("key in use", { permissions: ["DOCKER:READ_ANY", "ORDERS:READ_ANY"], enabled: false }),
        newKey("expired", { permissions: ["ORDERS:DELETE_OWN"], expiresAt: PAST }),
        keyWith("third", "ORDERS:CREATE_ANY", "ORDERS:READ_OWN"),
        keyWith("fourth", "MY_ORDERS:READ_ANY", "ORDERS:READ_ANY"),
        newKey("admin", { roles: ["ADMIN"] }),
      ]);
      await addAll(store, keys);
      const removal = (): Promise<Failure> => failureOfPromise(store.removeResource("ORDERS", LOCAL, allowAny));
      const { code, message } = await removal();
      expect(code).toBe("FAILED");
      expect(message).toContain('the keys "key in use", "expired", "third" and others. For each key, run ');
      expect(message).toContain("service-api apikey update NAME --remove-permissions 'ORDERS:*'");
      await store.remove(keys.slice(1, 4).map(({ id }) => id), LOCAL, allowAny);
      expect((await removal()).message).toContain(
        `the key "key in use". Run "service-api apikey update 'key in use' --remove-permissions 'ORDERS:*'" or, ` +
          `if the key has no other rights, "service-api apikey delete 'key in use'".`,
      );
      await inSequence(["ORDER", "MY_ORDERS", "FREE"], (name) => store.removeResource(name, LOCAL, allowAny));
      await store.update({ id: keys[0].id }, LOCAL, UPDATE, set({ permissions: ["DOCKER:READ_ANY"] }));
      await store.removeResource("ORDERS", LOCAL, allowAny);
      expect(await namesIn(store)).toEqual([]);
    }));

  test("A key cannot get a permission on a resource that does not exist", () =>
    withNewStore(engine, async (store) => {
      await add(store, "ORDERS");
      const key = await keyWith("deploy", "ORDERS:READ_ANY");
      await addAll(store, [key]);
      const unknown = { roles: [], permissions: ["ORDERS:READ_ANY", "GONE:READ_ANY"] } as const;
      const [fresh, successor] = [await newKey("new", unknown), await newKey("deploy", unknown)];
      const changes = [
        store.add(fresh, LOCAL, allowAny),
        store.add(successor, LOCAL, allowAny),
        store.update({ id: key.id }, LOCAL, UPDATE, set(unknown)),
      ];
      const failures = await Promise.all(changes.map(failureOfPromise));
      expect(failures.map(({ code }) => code)).toEqual(changes.map(() => "INVALID_PERMISSION"));
      for (const { message } of failures) expect(message).toContain('Unknown resource "GONE"');
      expect(await Array.fromAsync(store.list())).toEqual([key]);
    }));

  test("A stored permission on an unknown resource is read, and stays if the key gets other permissions", () =>
    withNewStore(engine, async (store, location) => {
      const key = await keyWith("deploy", "DOCKER:READ_ANY");
      await addAll(store, [key]);
      await location.execute(`UPDATE api_key SET permissions = 'GONE:READ_ANY' WHERE id = '${key.id}'`);
      expect((await store.findById(key.id))?.permissions).toEqual(["GONE:READ_ANY"]);
      const permissions = ["GONE:READ_ANY", "ME:READ_OWN"] as const;
      expect(await store.update({ id: key.id }, LOCAL, UPDATE, set({ permissions }))).toMatchObject({ permissions });
    }));

  test("The audit trail records what was added and removed, with the caller and without a key", () =>
    withNewStore(engine, async (store) => {
      await addDeployer(store);
      await store.addResource({ name: "ORDERS", description: "what customers buy" }, REMOTE, allowAny);
      await store.removeResource("ORDERS", LOCAL, allowAny);
      await add(store, "PLAIN");
      const [, added, removed, plain] = await readTrail(store);
      const done = { keyId: null, keyName: null, outcome: "DONE" };
      expect(added).toMatchObject({
        ...REMOTE,
        ...done,
        action: "ADD_RESOURCE",
        changes: [
          { field: "name", before: null, after: "ORDERS" },
          { field: "description", before: null, after: "what customers buy" },
        ],
      });
      expect(removed).toMatchObject({
        ...LOCAL,
        ...done,
        action: "REMOVE_RESOURCE",
        changes: [
          { field: "name", before: "ORDERS", after: null },
          { field: "description", before: "what customers buy", after: null },
        ],
      });
      expect(plain?.changes).toEqual([{ field: "name", before: null, after: "PLAIN" }]);
    }));

  test("If the precondition throws or the calling key was deleted, nothing is added, removed or recorded", () =>
    withNewStore(engine, async (store) => {
      await add(store, "ORDERS");
      const refuse = (): never => {
        throw new Failure("FORBIDDEN", "not allowed");
      };
      const outcomes = await Promise.all([
        outcomeOf(store.addResource({ name: "NEW", description: null }, LOCAL, refuse)),
        outcomeOf(store.removeResource("ORDERS", LOCAL, refuse)),
        outcomeOf(store.addResource({ name: "NEW", description: null }, REMOTE, allowAny)),
        outcomeOf(store.removeResource("ORDERS", REMOTE, allowAny)),
      ]);
      expect(outcomes).toEqual(["FORBIDDEN", "FORBIDDEN", "UNAUTHENTICATED", "UNAUTHENTICATED"]);
      expect(await store.listResources()).toMatchObject({ revision: 1, resources: [{ name: "ORDERS" }] });
      expect(await readTrail(store)).toHaveLength(1);
    }));

  test("If two processes add a resource at once, exactly one succeeds", () =>
    withTwoStores(engine, async (one, two) => {
      await inSequence(Array(ROUNDS).keys(), async (round) => {
        const outcomes = await Promise.all([one, two].map((store) => outcomeOf(add(store, `R${round}`))));
        expect(outcomes.toSorted()).toEqual(["ALREADY_EXISTS", "done"]);
      });
      expect(await revisionIn(one)).toBe(ROUNDS);
    }));

  test("If a resource is removed while a key that names it is created or updated, either the removal or the key fails", () =>
    withTwoStores(engine, async (one, two) => {
      const held = await keyWith("held", "ME:READ_OWN");
      await addAll(one, [held]);
      await inSequence(Array(ROUNDS).keys(), async (round) => {
        await add(one, "ORDERS");
        const permissions = ["ORDERS:READ_ANY"] as const;
        const key = await keyWith(`key ${round}`, ...permissions);
        const grant = (): Promise<unknown> =>
          round % 2 === 0
            ? two.add(key, LOCAL, rejectTakenName)
            : two.update({ id: held.id }, LOCAL, UPDATE, set({ permissions }));
        const remove = (): Promise<void> => one.removeResource("ORDERS", LOCAL, allowAny);
        // Half of the rounds request the removal first.
        const changes = round % 4 < 2 ? [grant, remove] : [remove, grant];
        const outcomes = await Promise.all(changes.map((act) => outcomeOf(act())));
        const [granted, removed] = round % 4 < 2 ? outcomes : outcomes.toReversed();
        expect(["done FAILED", "INVALID_PERMISSION done"]).toContain(`${granted} ${removed}`);
        expect(await namesIn(two)).toEqual(granted === "done" ? ["ORDERS"] : []);
        if (granted !== "done") return;
        if (round % 2 === 0) await one.remove([key.id], LOCAL, allowAny);
        else await one.update({ id: held.id }, LOCAL, UPDATE, set({ permissions: ["ME:READ_OWN"] }));
        await remove();
      });
    }));
}
