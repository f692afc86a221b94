/** The tests about changing keys that every `KeyStore` must pass. They run on SQLite and on PostgreSQL. */
import { expect } from "expect";
import { Failure } from "../../src/apikey/failure.ts";
import { parseName } from "../../src/apikey/name.ts";
import { maskSecret } from "../../src/apikey/secret.ts";
import type { AuditChange } from "../../src/store/audit_event.ts";
import type { Change, KeyStore, Precondition, UpdateOptions } from "../../src/store/key_store.ts";
import type { KeyState } from "../../src/store/lookups/key_state.ts";
import type { StoredKey } from "../../src/store/stored_key.ts";
import { failureOfPromise } from "../apikey/failure_of.ts";
import { readTrail } from "./audit_trail_contract.ts";
import { addAll, addDeployer, allowAny, inSequence, listKeys, LOCAL, rejectTakenName, REMOTE } from "./changes.ts";
import { type Engine, withNewStore, withTwoStores } from "./engine.ts";
import { activeState, newKey, newKeys } from "./stored_key.ts";

const UPDATE: UpdateOptions = { action: "UPDATE" };
const ROTATE: UpdateOptions = { action: "ROTATE" };

export const PAST = new Date("2020-01-02T03:04:05.006Z");
export const FUTURE = new Date("2999-12-31T23:59:59.999Z");

/** Returns a change that sets some fields. */
export function set(fields: Partial<StoredKey>): Change {
  return (held) => ({ ...held, ...fields });
}

/** Returns a change that gives the secret of `fresh` to a key. */
export function rotateTo(fresh: StoredKey, graceUntil: Date | null = null): Change {
  return (held) => ({
    ...held,
    secretHash: fresh.secretHash,
    secretTail: fresh.secretTail,
    previousSecretHash: held.secretHash,
    graceUntil,
  });
}

/** Returns the options and the change that rename a key. */
export function renameTo(name: string): readonly [UpdateOptions, Change] {
  const newName = parseName(name);
  return [{ action: "UPDATE", newName }, set({ name: newName })];
}

function updateById(store: KeyStore, { id }: StoredKey, change: Change): Promise<StoredKey | undefined> {
  return store.update({ id }, LOCAL, UPDATE, change);
}

function stateOf(store: KeyStore, { secretHash }: StoredKey): Promise<KeyState | undefined> {
  return store.findBySecretHash(secretHash);
}

/** Returns what the last event of the audit trail says that it changed. */
async function lastChanges(store: KeyStore): Promise<readonly AuditChange[] | undefined> {
  return (await readTrail(store)).at(-1)?.changes;
}

/** Registers the tests for one database engine. */
export function testUpdates(engine: Engine): void {
  const test = (rule: string, check: () => Promise<void>): void => Deno.test(`${engine.name}: ${rule}`, check);

  test("update changes every field of a key, increases its revision, and returns the key as every store then reads it", () =>
    withTwoStores(engine, async (one, two) => {
      const [key, other, fresh] = await Promise.all([newKey("deploy"), newKey("other"), newKey("fresh")]);
      await addAll(one, [key, other]);
      const fields: Partial<StoredKey> = {
        description: "new",
        roles: ["VIEWER", "CONNECT"],
        permissions: ["DOCKER:READ_ANY"],
        enabled: false,
        expiresAt: FUTURE,
        managedBy: "infra",
        secretHash: fresh.secretHash,
        secretTail: fresh.secretTail,
        previousSecretHash: key.secretHash,
        graceUntil: new Date("2998-01-01T00:00:00.001Z"),
      };
      const expected = { ...key, ...fields, revision: 2, updatedAt: LOCAL.at };
      expect(await updateById(one, key, set(fields))).toEqual(expected);
      expect(await two.findById(key.id)).toEqual(expected);
      expect(await listKeys(two)).toEqual([expected, other]);
      const cleared = set({ description: null, expiresAt: null, managedBy: null, graceUntil: null, enabled: true });
      const at = new Date("2027-01-01T00:00:00.001Z");
      expect(await one.update({ name: key.name }, { ...LOCAL, at }, UPDATE, cleared)).toEqual({
        ...cleared(expected, null),
        revision: 3,
        updatedAt: at,
      });
    }));

  test("The change gets the current key, with its last use, and update keeps the last use", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("deploy");
      await addAll(store, [key]);
      await store.recordUses(new Map([[key.id, PAST]]));
      const calls: StoredKey[] = [];
      const updated = await updateById(store, key, (held) => {
        calls.push(held);
        return { ...held };
      });
      expect(calls).toEqual([{ ...key, lastUsedAt: PAST }]);
      expect(updated).toEqual({ ...key, lastUsedAt: PAST, revision: 2, updatedAt: LOCAL.at });
    }));

  test("If the change returns the key that it got, update returns it, and records nothing", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("deploy");
      await addAll(store, [key]);
      const before = await readTrail(store);
      expect(await updateById(store, key, (held) => held)).toEqual(key);
      expect(await listKeys(store)).toEqual([key]);
      expect(await readTrail(store)).toEqual(before);
    }));

  test("Updating a key that does not exist returns undefined and records no event", () =>
    withNewStore(engine, async (store) => {
      const never: Change = () => {
        throw new Error("called");
      };
      expect(await store.update({ id: "key_nowhere" }, LOCAL, UPDATE, never)).toBeUndefined();
      expect(await store.update({ name: parseName("nowhere") }, LOCAL, ROTATE, never)).toBeUndefined();
      expect(await readTrail(store)).toEqual([]);
    }));

  test("If the change throws, the key is unchanged and no event is recorded", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("deploy");
      await addAll(store, [key]);
      const before = await readTrail(store);
      const failure = await failureOfPromise(updateById(store, key, () => {
        throw new Failure("FORBIDDEN", "not this one");
      }));
      expect(failure.message).toBe("not this one");
      expect(await listKeys(store)).toEqual([key]);
      expect(await readTrail(store)).toEqual(before);
    }));

  test("An update by a key that was deleted fails with UNAUTHENTICATED, whether or not the key to update exists", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("deploy");
      await addAll(store, [key]);
      const selectors = [{ id: key.id }, { name: key.name }, { id: "key_nowhere" }, { name: parseName("nowhere") }];
      const updates = selectors.map((selector) => store.update(selector, REMOTE, UPDATE, set({ enabled: false })));
      const failures = await Promise.all(updates.map(failureOfPromise));
      expect(failures.map(({ code }) => code)).toEqual(selectors.map(() => "UNAUTHENTICATED"));
      expect(await listKeys(store)).toEqual([key]);
    }));

  test("Every change by a key that was disabled fails with UNAUTHENTICATED", () =>
    withNewStore(engine, async (store) => {
      const [key, fresh, second] = await Promise.all([newKey("deploy"), newKey("fresh"), newKey("deploy")]);
      await addDeployer(store);
      await addAll(store, [key]);
      await store.update({ id: REMOTE.actor?.id ?? "" }, LOCAL, UPDATE, set({ enabled: false }));
      const before = await listKeys(store);
      const changes: readonly Promise<unknown>[] = [
        store.add(fresh, REMOTE, allowAny),
        store.add(second, REMOTE, allowAny),
        store.remove([key.id], REMOTE, allowAny),
        store.update({ id: key.id }, REMOTE, UPDATE, set({ enabled: false })),
        store.update({ id: REMOTE.actor?.id ?? "" }, REMOTE, UPDATE, set({ enabled: true })),
      ];
      const failures = await Promise.all(changes.map(failureOfPromise));
      expect(failures.map(({ code }) => code)).toEqual(changes.map(() => "UNAUTHENTICATED"));
      for (const { message } of failures) expect(message).toContain("disabled while the request was running");
      expect(await listKeys(store)).toEqual(before);
    }));

  test("Every change by a key gets the current state of this key, and a change by the local caller gets null", () =>
    withNewStore(engine, async (store) => {
      const [key, fresh, second] = await Promise.all([newKey("deploy"), newKey("fresh"), newKey("deploy")]);
      await addDeployer(store);
      await addAll(store, [key]);
      const actor = await store.update({ id: REMOTE.actor?.id ?? "" }, LOCAL, UPDATE, set({ roles: ["VIEWER"] }));
      const seen: unknown[] = [];
      const record: Precondition = (_held, actor) => void seen.push(actor);
      const describe: Change = (held, actor) => ({ ...held, description: String(seen.push(actor)) });
      for (const origin of [REMOTE, LOCAL]) {
        // deno-lint-ignore no-await-in-loop -- the second round repeats the changes of the first
        await inSequence([
          () => store.add(fresh, origin, record),
          () => store.update({ id: key.id }, origin, UPDATE, describe),
          () => store.add(second, origin, record),
          () => store.remove([fresh.id, second.id], origin, record),
          () => store.add(key, origin, record),
        ], (act) => act());
      }
      expect(seen).toEqual([...Array(6).fill(actor), ...Array(6).fill(null)]);
    }));

  test("A renamed key is found only by its new name, and a new key can have the old name", () =>
    withNewStore(engine, async (store) => {
      const [key, second] = await Promise.all([newKey("old"), newKey("old")]);
      await addAll(store, [key]);
      const renamed = await store.update({ name: key.name }, LOCAL, ...renameTo("new"));
      expect(renamed?.name).toBe("new");
      expect(await store.findByName(parseName("new"))).toEqual(renamed);
      expect(await store.findByName(key.name)).toBeUndefined();
      expect(await store.update({ name: key.name }, LOCAL, UPDATE, set({}))).toBeUndefined();
      await addAll(store, [second]);
      expect(await listKeys(store)).toEqual([renamed, second]);
    }));

  test("Renaming a key to a name that another key has fails with ALREADY_EXISTS, and both keys are unchanged", () =>
    withNewStore(engine, async (store) => {
      const keys = await newKeys(2);
      await addAll(store, keys);
      const { code, message } = await failureOfPromise(
        store.update({ name: parseName("key 1") }, LOCAL, ...renameTo("key 2")),
      );
      expect(code).toBe("ALREADY_EXISTS");
      expect(message).toContain('"key 2" already exists');
      expect(await listKeys(store)).toEqual(keys);
    }));

  test("A key can be renamed to the name that it has", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("deploy");
      await addAll(store, [key]);
      const expected = { ...key, revision: 2, updatedAt: LOCAL.at };
      expect(await store.update({ id: key.id }, LOCAL, ...renameTo("deploy"))).toEqual(expected);
    }));

  test("After a rotation without a grace period, the new secret is active and the old secret is rotated", () =>
    withTwoStores(engine, async (one, two) => {
      const [key, fresh] = await Promise.all([newKey("deploy"), newKey("fresh")]);
      await addAll(one, [key]);
      await one.update({ name: key.name }, LOCAL, ROTATE, rotateTo(fresh));
      expect(await stateOf(two, fresh)).toEqual({ ...activeState(key), revision: 2 });
      expect(await stateOf(two, key)).toEqual({
        ...activeState(key),
        revision: 2,
        status: "rotated",
        isPrevious: true,
      });
    }));

  test("In the grace period both secrets are active; a second rotation ends the period of the first secret", () =>
    withTwoStores(engine, async (one, two) => {
      const [key, second, third] = await Promise.all([newKey("deploy"), newKey("second"), newKey("third")]);
      await addAll(one, [key]);
      await one.update({ id: key.id }, LOCAL, ROTATE, rotateTo(second, FUTURE));
      const states = await Promise.all([key, second, third].map((holder) => stateOf(two, holder)));
      expect(states).toEqual([
        { ...activeState(key), revision: 2, isPrevious: true },
        { ...activeState(key), revision: 2 },
        undefined,
      ]);
      await one.update({ id: key.id }, LOCAL, ROTATE, rotateTo(third, FUTURE));
      expect(await stateOf(two, key)).toBeUndefined();
      expect(await stateOf(two, second)).toEqual({ ...activeState(key), revision: 3, isPrevious: true });
      expect((await stateOf(two, third))?.isPrevious).toBe(false);
    }));

  for (
    const [what, fields, current, previous] of [
      ["is disabled", { enabled: false, graceUntil: FUTURE }, "disabled", "disabled"],
      ["has expired", { expiresAt: PAST, graceUntil: FUTURE }, "expired", "expired"],
      ["is disabled and has expired", { enabled: false, expiresAt: PAST, graceUntil: FUTURE }, "disabled", "disabled"],
      ["is disabled after a grace period", { enabled: false, graceUntil: PAST }, "disabled", "rotated"],
      ["has expired after a grace period", { expiresAt: PAST, graceUntil: PAST }, "expired", "rotated"],
      ["expires later", { expiresAt: FUTURE, graceUntil: FUTURE }, "active", "active"],
      ["is in use after a grace period", { graceUntil: PAST }, "active", "rotated"],
    ] as const
  ) {
    test(`If a key ${what}, its secret is ${current} and its previous secret ${previous}`, () =>
      withNewStore(engine, async (store) => {
        const [old, other] = await Promise.all([newKey("old"), newKey("other")]);
        const key = await newKey("deploy", { ...fields, previousSecretHash: old.secretHash });
        await addAll(store, [key, other]);
        const [one, two, three] = await Promise.all([key, old, other].map((holder) => stateOf(store, holder)));
        expect(one).toEqual({ ...activeState(key), status: current });
        expect(two).toEqual({ ...activeState(key), status: previous, isPrevious: true });
        expect(three).toEqual(activeState(other));
        expect(await stateOf(store, key)).toEqual(one);
        expect(await stateOf(store, old)).toEqual(two);
      }));
  }

  test("A key that is replaced or deleted takes its previous secret with it", () =>
    withNewStore(engine, async (store) => {
      const [old, gone] = await Promise.all([newKey("old"), newKey("gone")]);
      const key = await newKey("deploy", { previousSecretHash: old.secretHash, graceUntil: FUTURE });
      await addAll(store, [key, await newKey("x", { previousSecretHash: gone.secretHash, graceUntil: FUTURE })]);
      await store.add(await newKey("deploy"), LOCAL, allowAny);
      await store.remove([(await store.findByName(parseName("x")))?.id ?? ""], LOCAL, allowAny);
      expect(await Promise.all([old, gone].map((holder) => stateOf(store, holder)))).toEqual([undefined, undefined]);
    }));

  test("No two secrets, current or previous, have the same hash", () =>
    withNewStore(engine, async (store) => {
      const [old, fresh, current] = await Promise.all([newKey("old"), newKey("fresh"), newKey("current")]);
      const rotated = await newKey("rotated", { previousSecretHash: old.secretHash });
      await addAll(store, [rotated, current]);
      const { secretHash } = current;
      const newcomers = await Promise.all([
        newKey("a", { secretHash: old.secretHash }),
        newKey("b", { previousSecretHash: secretHash }),
        newKey("c", { previousSecretHash: old.secretHash }),
        newKey("d", { secretHash: fresh.secretHash, previousSecretHash: fresh.secretHash }),
      ]);
      const clashes: readonly Promise<unknown>[] = [
        ...newcomers.map((key) => store.add(key, LOCAL, allowAny)),
        updateById(store, current, set({ secretHash: old.secretHash })),
        updateById(store, current, set({ secretHash: rotated.secretHash })),
        updateById(store, current, set({ previousSecretHash: secretHash })),
        updateById(store, current, set({ previousSecretHash: old.secretHash })),
        updateById(store, rotated, set({ secretHash: old.secretHash })),
        updateById(store, rotated, rotateTo(current)),
      ];
      const failures = await Promise.all(clashes.map(failureOfPromise));
      expect(failures.map(({ code }) => code)).toEqual(clashes.map(() => "UNREACHABLE"));
      expect(await listKeys(store)).toEqual([rotated, current]);
    }));

  test("The audit trail says what a creation, an update, a rotation, a replacement and a deletion changed", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("deploy", { description: "old", permissions: ["DOCKER:READ_ANY", "DISK:READ_ANY"] });
      const [fresh, successor] = await Promise.all([newKey("fresh"), newKey("release", { roles: [], enabled: false })]);
      const [tail, freshTail] = [maskSecret(key.secretTail), maskSecret(fresh.secretTail)];
      await addDeployer(store);

      await store.add(key, REMOTE, rejectTakenName);
      expect(await lastChanges(store)).toEqual([
        { field: "name", before: null, after: "deploy" },
        { field: "description", before: null, after: "old" },
        { field: "roles", before: null, after: "GUEST" },
        { field: "permissions", before: null, after: "DOCKER:READ_ANY,DISK:READ_ANY" },
        { field: "key", before: null, after: tail },
        { field: "enabled", before: null, after: "true" },
      ]);

      const [options, rename] = renameTo("release");
      const fields: Partial<StoredKey> = { description: null, roles: [], expiresAt: FUTURE, managedBy: "infra" };
      await store.update({ id: key.id }, REMOTE, options, (held) => ({ ...rename(held, null), ...fields }));
      const [event] = (await readTrail(store)).slice(-1);
      expect(event).toEqual({
        ...REMOTE,
        id: event?.id,
        action: "UPDATE",
        keyId: key.id,
        keyName: "deploy",
        outcome: "DONE",
        occurrences: 1,
        changes: [
          { field: "name", before: "deploy", after: "release" },
          { field: "description", before: "old", after: null },
          { field: "roles", before: "GUEST", after: null },
          { field: "expiresAt", before: null, after: FUTURE.toISOString() },
          { field: "managedBy", before: null, after: "infra" },
        ],
      });

      await store.update({ id: key.id }, LOCAL, ROTATE, rotateTo(fresh, FUTURE));
      expect((await readTrail(store)).at(-1)?.action).toBe("ROTATE");
      expect(await lastChanges(store)).toEqual([
        { field: "key", before: tail, after: freshTail },
        { field: "graceUntil", before: null, after: FUTURE.toISOString() },
      ]);

      await store.add(successor, LOCAL, allowAny);
      const replacement = (await readTrail(store)).at(-2);
      expect(replacement?.action).toBe("REPLACE");
      expect(replacement?.changes).toEqual([
        { field: "name", before: "release", after: null },
        { field: "permissions", before: "DOCKER:READ_ANY,DISK:READ_ANY", after: null },
        { field: "key", before: freshTail, after: null },
        { field: "enabled", before: "true", after: null },
        { field: "expiresAt", before: FUTURE.toISOString(), after: null },
        { field: "graceUntil", before: FUTURE.toISOString(), after: null },
        { field: "managedBy", before: "infra", after: null },
      ]);

      await store.remove([successor.id], LOCAL, allowAny);
      expect(await lastChanges(store)).toEqual([
        { field: "name", before: "release", after: null },
        { field: "key", before: maskSecret(successor.secretTail), after: null },
        { field: "enabled", before: "false", after: null },
      ]);
    }));

  test("An event whose changes are damaged cannot be read, and the message contains its id", () =>
    withNewStore(engine, async (store, location) => {
      await location.execute(
        `INSERT INTO audit_event (at, action, outcome, changes)
         VALUES ('2026-03-04T05:06:07.089Z', 'UPDATE', 'DONE', '[{"field":"name"}]')`,
      );
      const { code, message } = await failureOfPromise(readTrail(store));
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain("cannot read the audit event 1");
    }));
}
