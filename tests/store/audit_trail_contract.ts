/** The audit-trail tests that every `KeyStore` must pass. They run on SQLite and on PostgreSQL. */
import { expect } from "expect";
import { Failure } from "../../src/apikey/failure.ts";
import { parseName } from "../../src/apikey/name.ts";
import type { AuditAction, AuditEvent, NewEvent } from "../../src/store/audit_event.ts";
import type { KeyStore, Precondition } from "../../src/store/key_store.ts";
import { failureOfPromise } from "../apikey/failure_of.ts";
import {
  addAll,
  addDeployer,
  allowAny,
  inBatches,
  inParallel,
  inSequence,
  listKeys,
  LOCAL,
  rejectTakenName,
  REMOTE,
} from "./changes.ts";
import { type Engine, withNewStore, withTwoStores } from "./engine.ts";
import { newKey } from "./stored_key.ts";

/** Reads all events after an id, or the whole trail, page by page. */
export async function readTrail(store: KeyStore, after?: string): Promise<readonly AuditEvent[]> {
  const page = await store.listEvents(after, 500);
  return page.length === 0 ? [] : [...page, ...await readTrail(store, page.at(-1)?.id)];
}

/** Returns all events, without their ids, occurrences and changes, except those about the key in `REMOTE`. */
async function events(store: KeyStore): Promise<readonly NewEvent[]> {
  const trail = await readTrail(store);
  return trail.map(({ id: _id, occurrences: _occurrences, changes: _changes, ...event }) => event)
    .filter(({ keyId }) => keyId !== REMOTE.actor?.id);
}

/** Returns the event for a rejected request to create a key. */
function rejection(keyName: string, at = LOCAL.at): NewEvent {
  return { ...REMOTE, at, action: "CREATE", keyId: null, keyName, outcome: "FORBIDDEN" };
}

const rejectAll: Precondition = () => {
  throw new Failure("FORBIDDEN", "not allowed");
};

/** Registers the tests for one database engine. */
export function testAuditTrail(engine: Engine): void {
  const test = (rule: string, check: () => Promise<void>): void => Deno.test(`${engine.name}: ${rule}`, check);

  test("A new store has no events", () =>
    withNewStore(engine, async (store) => expect(await store.listEvents(undefined, 10)).toEqual([])));

  test("The audit trail records creations, replacements and removals, with the caller and the address", () =>
    withNewStore(engine, async (store) => {
      const [old, fresh] = await Promise.all([newKey("deploy"), newKey("deploy")]);
      const [first, second] = [{ keyId: old.id, keyName: "deploy" }, { keyId: fresh.id, keyName: "deploy" }];
      await addDeployer(store);
      await store.add(old, LOCAL, rejectTakenName);
      await store.add(fresh, REMOTE, allowAny);
      await store.remove([fresh.id], { ...LOCAL, at: new Date("2027-01-01T00:00:00.001Z") }, allowAny);
      expect(await events(store)).toEqual([
        { ...LOCAL, action: "CREATE", ...first, outcome: "DONE" },
        { ...REMOTE, action: "REPLACE", ...first, outcome: "DONE" },
        { ...REMOTE, action: "CREATE", ...second, outcome: "DONE" },
        { ...LOCAL, at: new Date("2027-01-01T00:00:00.001Z"), action: "DELETE", ...second, outcome: "DONE" },
      ]);
    }));

  test("The use of a key is not in the audit trail", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("deploy");
      await store.add(key, LOCAL, rejectTakenName);
      await store.recordUses(new Map([[key.id, new Date("2027-01-01T00:00:00.001Z")]]));
      expect((await events(store)).map(({ action }) => action)).toEqual(["CREATE"]);
    }));

  test("Removing several keys records one event for each key", () =>
    withNewStore(engine, async (store) => {
      const [a, b, c] = await Promise.all([newKey("a"), newKey("b"), newKey("c")]);
      await addDeployer(store);
      await addAll(store, [a, b, c]);
      await store.remove([c.id, a.id, c.id], REMOTE, allowAny);
      const removals = (await events(store)).slice(3);
      expect(removals.toSorted((one, two) => String(one.keyName) < String(two.keyName) ? -1 : 1)).toEqual([
        { ...REMOTE, action: "DELETE", keyId: a.id, keyName: "a", outcome: "DONE" },
        { ...REMOTE, action: "DELETE", keyId: c.id, keyName: "c", outcome: "DONE" },
      ]);
    }));

  test("If one of the keys to remove does not exist, no key is removed and no event is recorded", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("deploy");
      await addDeployer(store);
      await addAll(store, [key]);
      const before = await readTrail(store);
      expect(await store.remove([key.id, "key_nowhere"], REMOTE, allowAny)).toBe(false);
      expect(await store.findById(key.id)).toEqual(key);
      expect(await readTrail(store)).toEqual(before);
    }));

  test("A change requested by a deleted key fails with UNAUTHENTICATED", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("deploy");
      await addAll(store, [key]);
      const before = await readTrail(store);
      expect((await failureOfPromise(store.add(await newKey("other"), REMOTE, allowAny))).code).toBe("UNAUTHENTICATED");
      expect((await failureOfPromise(store.add(await newKey("deploy"), REMOTE, allowAny))).code).toBe(
        "UNAUTHENTICATED",
      );
      expect((await failureOfPromise(store.remove([key.id], REMOTE, allowAny))).code).toBe("UNAUTHENTICATED");
      expect(await listKeys(store)).toEqual([key]);
      expect(await readTrail(store)).toEqual(before);
    }));

  test("If add or remove throws, no event is recorded", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("deploy");
      await addDeployer(store);
      await addAll(store, [key]);
      const before = await readTrail(store);
      const changes = [
        store.add(await newKey("deploy"), REMOTE, rejectAll),
        store.remove([key.id], REMOTE, rejectAll),
      ].map(failureOfPromise);
      expect((await Promise.all(changes)).map(({ code }) => code)).toEqual(["FORBIDDEN", "FORBIDDEN"]);
      expect((await failureOfPromise(store.add(await newKey("other"), REMOTE, rejectAll))).code).toBe("FORBIDDEN");
      await failureOfPromise(store.add(await newKey("other", { secretHash: key.secretHash }), REMOTE, allowAny));
      expect(await readTrail(store)).toEqual(before);
    }));

  test("If the audit event of a change cannot be recorded, the change is not made", () =>
    withNewStore(engine, async (store, location) => {
      const key = await newKey("deploy");
      await addAll(store, [key]);
      await location.execute("ALTER TABLE audit_event RENAME TO elsewhere");
      expect((await failureOfPromise(store.add(await newKey("deploy"), LOCAL, allowAny))).code).toBe("UNREACHABLE");
      expect((await failureOfPromise(store.add(await newKey("other"), LOCAL, allowAny))).code).toBe("UNREACHABLE");
      expect((await failureOfPromise(store.remove([key.id], LOCAL, allowAny))).code).toBe("UNREACHABLE");
      expect(await listKeys(store)).toEqual([key]);
    }));

  test("Events for rejected changes are stored unchanged", () =>
    withNewStore(engine, async (store) => {
      const actions: readonly AuditAction[] = ["CREATE", "REPLACE", "DELETE"];
      const rejections: readonly NewEvent[] = [
        ...actions.map((action) => ({ ...rejection("deploy"), action })),
        { ...LOCAL, action: "DELETE", keyId: "key_1", keyName: null, outcome: "INVALID_NAME" },
        { ...REMOTE, action: "CREATE", keyId: null, keyName: `Zoë's "🔑" \n'); --`, outcome: "INVALID_NAME" },
      ];
      await inSequence(rejections, (event) => store.recordEvent(event));
      expect(await events(store)).toEqual(rejections);
    }));

  test("An event stands for one change, or for several rejections if it says so", () =>
    withNewStore(engine, async (store) => {
      await addAll(store, [await newKey("deploy")]);
      await store.recordEvent(rejection("deploy"));
      await store.recordEvent({ ...rejection("deploy"), occurrences: 2_000_000_000 });
      expect((await readTrail(store)).map(({ occurrences }) => occurrences)).toEqual([1, 1, 2_000_000_000]);
    }));

  test("eventTimes returns the times of the oldest and the newest event by time", () =>
    withNewStore(engine, async (store) => {
      expect(await store.eventTimes()).toBeUndefined();
      const [early, late] = [new Date("1970-01-01T00:00:00.001Z"), new Date("2099-01-01T00:00:00.999Z")];
      await inSequence([LOCAL.at, late, early, LOCAL.at], (at) => store.recordEvent(rejection("deploy", at)));
      expect(await store.eventTimes()).toEqual({ oldest: early, newest: late });
    }));

  test("Two stores that delete old events at the same time delete each of them", () =>
    withTwoStores(engine, async (one, two) => {
      await inBatches(Array(2_100).fill(rejection("old")), (event) => one.recordEvent(event));
      await Promise.all([one, two, one, two].map((store) => store.dropEventsBefore(new Date("2100-01-01"))));
      expect(await readTrail(one)).toEqual([]);
    }));

  test("Reading a damaged event fails with UNREACHABLE, and the message contains the id of the event", () =>
    withNewStore(engine, async (store, location) => {
      await store.recordEvent(rejection("deploy"));
      await location.execute(
        "INSERT INTO audit_event (at, action, outcome) VALUES ('2026-01-01T00:00:00.000Z', 'EXPLODE', 'DONE')",
      );
      const [first] = await store.listEvents(undefined, 1);
      const { code, message } = await failureOfPromise(store.listEvents(first?.id, 10));
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain(`event ${Number(first?.id) + 1}.`);
    }));

  test("The pages of the audit trail list the events oldest first, with increasing ids", () =>
    withNewStore(engine, async (store) => {
      await inSequence(Array(25).keys(), (i) => store.recordEvent(rejection(`key ${i}`)));
      const first = await store.listEvents(undefined, 10);
      const second = await store.listEvents(first.at(-1)?.id, 10);
      const third = await store.listEvents(second.at(-1)?.id, 10);
      expect([first.length, second.length, third.length]).toEqual([10, 10, 5]);
      const all = [...first, ...second, ...third];
      expect(all.map(({ keyName }) => keyName)).toEqual(Array.from({ length: 25 }, (_, i) => `key ${i}`));
      const ids = all.map(({ id }) => Number(id));
      expect(ids.every((id, i) => Number.isInteger(id) && id > (ids[i - 1] ?? 0))).toBe(true);
      expect(await store.listEvents(third.at(-1)?.id, 10)).toEqual([]);
      expect(await store.listEvents("9007199254740991", 10)).toEqual([]);
      expect(await store.listEvents(undefined, 100)).toEqual(all);
    }));

  test("The pages of the audit trail since a time leave out events from before it", () =>
    withNewStore(engine, async (store) => {
      const times = [1, 3, 2, 5, 4, 3].map((ms) => new Date(1_800_000_000_000 + ms));
      await inSequence(times, (at) => store.recordEvent(rejection("key", at)));
      const since = new Date(1_800_000_000_003);
      const first = await store.listEvents(undefined, 2, { since });
      const rest = await store.listEvents(first.at(-1)?.id, 10, { since });
      expect([...first, ...rest].map(({ at }) => at.getTime() - 1_800_000_000_000)).toEqual([3, 5, 4, 3]);
    }));

  test("The events of a key are found by its id, and by each name that it has or had", () =>
    withNewStore(engine, async (store) => {
      const [kept, gone, other] = await Promise.all([newKey("a"), newKey("c"), newKey("other")]);
      await addAll(store, [kept, gone, other]);
      const rename = (id: string, name: string): Promise<unknown> =>
        store.update({ id }, LOCAL, { action: "UPDATE" }, (key) => ({ ...key, name: parseName(name) }));
      await rename(kept.id, "b");
      await rename(gone.id, "d");
      await store.remove([gone.id], LOCAL, allowAny);
      await store.recordEvent(rejection("never made"));
      const found = async (key: string): Promise<readonly string[]> =>
        (await store.listEvents(undefined, 10, { key, since: LOCAL.at })).map((event) =>
          `${event.action} ${event.keyName}`
        );
      for (const key of [kept.id, "a", "b"]) {
        // deno-lint-ignore no-await-in-loop -- the list is short
        expect(await found(key)).toEqual(["CREATE a", "UPDATE a"]);
      }
      for (const key of [gone.id, "c", "d"]) {
        // deno-lint-ignore no-await-in-loop -- the list is short
        expect(await found(key)).toEqual(["CREATE c", "UPDATE c", "DELETE d"]);
      }
      expect(await found("never made")).toEqual(["CREATE never made"]);
      expect(await found("A")).toEqual([]);
    }));

  test("dropEventsBefore deletes only the events from before the given time", () =>
    withNewStore(engine, async (store) => {
      const times = [1, 3, 2, 5, 4, 3].map((ms) => new Date(1_800_000_000_000 + ms));
      await inSequence(times, (at) => store.recordEvent(rejection("deploy", at)));
      await store.dropEventsBefore(new Date(1_800_000_000_003));
      expect((await events(store)).map(({ at }) => at.getTime() - 1_800_000_000_000)).toEqual([3, 5, 4, 3]);
      await store.dropEventsBefore(new Date(0));
      expect((await events(store)).length).toBe(4);
    }));

  test("dropEventsBefore deletes more than one page of old events and keeps newer events", () =>
    withNewStore(engine, async (store) => {
      await inBatches(Array(1_100).fill(rejection("old")), (event) => store.recordEvent(event));
      const now = new Date(LOCAL.at.getTime() + 1);
      await inParallel(10, () => store.recordEvent(rejection("new", now)));
      await store.dropEventsBefore(now);
      expect((await events(store)).map(({ keyName }) => keyName)).toEqual(Array(10).fill("new"));
    }));

  test("Event ids keep increasing after all events have been deleted", () =>
    withNewStore(engine, async (store) => {
      await inSequence(["a", "b"], (name) => store.recordEvent(rejection(name)));
      const last = (await readTrail(store)).at(-1)?.id;
      await store.dropEventsBefore(new Date("2100-01-01"));
      expect(await readTrail(store)).toEqual([]);
      await store.recordEvent(rejection("c"));
      expect((await store.listEvents(last, 10)).map(({ keyName }) => keyName)).toEqual(["c"]);
    }));

  test("The database rejects updates of events", () =>
    withNewStore(engine, async (store, location) => {
      await store.recordEvent(rejection("deploy"));
      const before = await readTrail(store);
      const change = location.execute("UPDATE audit_event SET outcome = 'DONE'");
      await expect(change).rejects.toThrow("the audit trail is append-only");
      expect(await readTrail(store)).toEqual(before);
    }));
}
