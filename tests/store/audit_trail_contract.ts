/** What `KeyStore` promises of the audit trail, on whichever engine. */
import { expect } from "expect";
import { Failure } from "../../src/apikey/failure.ts";
import type { AuditAction, AuditEvent, NewEvent } from "../../src/store/audit_event.ts";
import type { KeyStore, Precondition } from "../../src/store/key_store.ts";
import { failureOfPromise } from "../apikey/failure_of.ts";
import { addAll, addDeployer, anyway, atOnce, inTurn, inWaves, listed, LOCAL, REMOTE, unlessTaken } from "./changes.ts";
import { type Engine, withNewStore, withTwoStores } from "./engine.ts";
import { newKey } from "./stored_key.ts";

/** The whole trail, page by page. */
export async function trail(store: KeyStore, after?: string): Promise<readonly AuditEvent[]> {
  const page = await store.listEvents(after, 500);
  return page.length === 0 ? [] : [...page, ...await trail(store, page.at(-1)?.id)];
}

/** The whole trail without its ids, and without the making of the key that changes are made with. */
async function events(store: KeyStore): Promise<readonly NewEvent[]> {
  return (await trail(store)).map(({ id: _, ...event }) => event).filter(({ keyId }) => keyId !== REMOTE.actor?.id);
}

/** What a refusal leaves, by its key's name. */
function refusal(keyName: string, at = LOCAL.at): NewEvent {
  return { ...REMOTE, at, action: "CREATE", keyId: null, keyName, outcome: "FORBIDDEN" };
}

const never: Precondition = () => {
  throw new Failure("FORBIDDEN", "never");
};

/** Registers the tests of the contract for an engine. */
export function testAuditTrail(engine: Engine): void {
  const test = (rule: string, check: () => Promise<void>): void => Deno.test(`${engine.name}: ${rule}`, check);

  test("A new store has no events", () =>
    withNewStore(engine, async (store) => expect(await store.listEvents(undefined, 10)).toEqual([])));

  test("Whoever creates, replaces and removes keys is in the audit trail, with what was done and from where", () =>
    withNewStore(engine, async (store) => {
      const [old, fresh] = await Promise.all([newKey("deploy"), newKey("deploy")]);
      const [first, second] = [{ keyId: old.id, keyName: "deploy" }, { keyId: fresh.id, keyName: "deploy" }];
      await addDeployer(store);
      await store.add(old, LOCAL, unlessTaken);
      await store.add(fresh, REMOTE, anyway);
      await store.remove([fresh.id], { ...LOCAL, at: new Date("2027-01-01T00:00:00.001Z") }, anyway);
      expect(await events(store)).toEqual([
        { ...LOCAL, action: "CREATE", ...first, outcome: "DONE" },
        { ...REMOTE, action: "REPLACE", ...first, outcome: "DONE" },
        { ...REMOTE, action: "CREATE", ...second, outcome: "DONE" },
        { ...LOCAL, at: new Date("2027-01-01T00:00:00.001Z"), action: "DELETE", ...second, outcome: "DONE" },
      ]);
    }));

  test("A removal of several keys leaves an event for each, once", () =>
    withNewStore(engine, async (store) => {
      const [a, b, c] = await Promise.all([newKey("a"), newKey("b"), newKey("c")]);
      await addDeployer(store);
      await addAll(store, [a, b, c]);
      await store.remove([c.id, a.id, c.id], REMOTE, anyway);
      const left = (await events(store)).slice(3);
      expect(left.toSorted((one, two) => String(one.keyName) < String(two.keyName) ? -1 : 1)).toEqual([
        { ...REMOTE, action: "DELETE", keyId: a.id, keyName: "a", outcome: "DONE" },
        { ...REMOTE, action: "DELETE", keyId: c.id, keyName: "c", outcome: "DONE" },
      ]);
    }));

  test("A removal that finds no such key leaves one event, NOT_FOUND, with the id that is not there", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("deploy");
      await addDeployer(store);
      await addAll(store, [key]);
      await store.remove([key.id, "key_nowhere"], REMOTE, anyway);
      expect((await events(store)).slice(1)).toEqual([
        { ...REMOTE, action: "DELETE", keyId: "key_nowhere", keyName: null, outcome: "NOT_FOUND" },
      ]);
    }));

  test("A key that is gone changes nothing, whoever still takes it for there", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("deploy");
      await addAll(store, [key]);
      const before = await trail(store);
      expect((await failureOfPromise(store.add(await newKey("other"), REMOTE, anyway))).code).toBe("UNAUTHENTICATED");
      expect((await failureOfPromise(store.add(await newKey("deploy"), REMOTE, anyway))).code).toBe("UNAUTHENTICATED");
      expect((await failureOfPromise(store.remove([key.id], REMOTE, anyway))).code).toBe("UNAUTHENTICATED");
      expect(await listed(store)).toEqual([key]);
      expect(await trail(store)).toEqual(before);
    }));

  test("A change without precondition leaves no event", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("deploy");
      await addDeployer(store);
      await addAll(store, [key]);
      const before = await trail(store);
      const refused = [
        store.add(await newKey("deploy"), REMOTE, never),
        store.remove([key.id], REMOTE, never),
      ].map(failureOfPromise);
      expect((await Promise.all(refused)).map(({ code }) => code)).toEqual(["FORBIDDEN", "FORBIDDEN"]);
      expect((await failureOfPromise(store.add(await newKey("other"), REMOTE, never))).code).toBe("FORBIDDEN");
      expect(await trail(store)).toEqual(before);
    }));

  test("A change that cannot be completed leaves no event", () =>
    withNewStore(engine, async (store) => {
      const [one, two] = await Promise.all([newKey("one"), newKey("two")]);
      await addDeployer(store);
      await addAll(store, [one, two]);
      const before = await trail(store);
      await failureOfPromise(store.add(await newKey("one", { secretHash: two.secretHash }), REMOTE, anyway));
      expect(await trail(store)).toEqual(before);
    }));

  test("A change whose event cannot be recorded does not take place", () =>
    withNewStore(engine, async (store, place) => {
      const key = await newKey("deploy");
      await addAll(store, [key]);
      await place.execute("ALTER TABLE audit_event RENAME TO elsewhere");
      expect((await failureOfPromise(store.add(await newKey("deploy"), LOCAL, anyway))).code).toBe("UNREACHABLE");
      expect((await failureOfPromise(store.add(await newKey("other"), LOCAL, anyway))).code).toBe("UNREACHABLE");
      expect((await failureOfPromise(store.remove([key.id], LOCAL, anyway))).code).toBe("UNREACHABLE");
      expect(await listed(store)).toEqual([key]);
    }));

  test("The use of a key leaves no event", () =>
    withNewStore(engine, async (store) => {
      const key = await newKey("deploy");
      await addAll(store, [key]);
      await store.recordUses(new Map([[key.id, REMOTE.at]]));
      expect((await events(store)).length).toBe(1);
    }));

  test("A refusal is recorded as it was given", () =>
    withNewStore(engine, async (store) => {
      const actions: readonly AuditAction[] = ["CREATE", "REPLACE", "DELETE"];
      const refusals: readonly NewEvent[] = [
        ...actions.map((action) => ({ ...refusal("deploy"), action })),
        { ...LOCAL, action: "DELETE", keyId: "key_1", keyName: null, outcome: "INVALID_NAME" },
        { ...REMOTE, action: "CREATE", keyId: null, keyName: `Zoë's "🔑" \n'); --`, outcome: "INVALID_NAME" },
      ];
      await inTurn(refusals, (event) => store.recordEvent(event));
      expect(await events(store)).toEqual(refusals);
    }));

  test("An event that is not as it was written makes the trail UNREACHABLE, by the id of the event", () =>
    withNewStore(engine, async (store, place) => {
      await store.recordEvent(refusal("deploy"));
      await place.execute(
        "INSERT INTO audit_event (at, action, outcome) VALUES ('2026-01-01T00:00:00.000Z', 'EXPLODE', 'DONE')",
      );
      const [first] = await store.listEvents(undefined, 1);
      const { code, message } = await failureOfPromise(store.listEvents(first?.id, 10));
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain(`event ${Number(first?.id) + 1} `);
    }));

  test("The trail is read page by page, oldest first, and its ids grow", () =>
    withNewStore(engine, async (store) => {
      await inTurn(Array(25).keys(), (i) => store.recordEvent(refusal(`key ${i}`)));
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

  test("Two stores on the same data share one trail", () =>
    withTwoStores(engine, async (one, two) => {
      await one.recordEvent(refusal("one"));
      await two.recordEvent(refusal("two"));
      await one.recordEvent(refusal("three"));
      expect((await events(two)).map(({ keyName }) => keyName)).toEqual(["one", "two", "three"]);
      expect(await trail(one)).toEqual(await trail(two));
    }));

  test("Dropping takes away the events before a time and no others", () =>
    withNewStore(engine, async (store) => {
      const times = [1, 3, 2, 5, 4, 3].map((ms) => new Date(1_800_000_000_000 + ms));
      await inTurn(times, (at) => store.recordEvent(refusal("deploy", at)));
      await store.dropEventsBefore(new Date(1_800_000_000_003));
      expect((await events(store)).map(({ at }) => at.getTime() - 1_800_000_000_000)).toEqual([3, 5, 4, 3]);
      await store.dropEventsBefore(new Date(0));
      expect((await events(store)).length).toBe(4);
    }));

  test("2,500 old events are dropped at once, and the newer ones stay", () =>
    withNewStore(engine, async (store) => {
      await inWaves(Array(2_500).fill(refusal("old")), (event) => store.recordEvent(event));
      const now = new Date(LOCAL.at.getTime() + 1);
      await atOnce(10, () => store.recordEvent(refusal("new", now)));
      await store.dropEventsBefore(now);
      expect((await events(store)).map(({ keyName }) => keyName)).toEqual(Array(10).fill("new"));
    }));

  test("Ids go on growing after every event was dropped", () =>
    withNewStore(engine, async (store) => {
      await inTurn(["a", "b"], (name) => store.recordEvent(refusal(name)));
      const last = (await trail(store)).at(-1)?.id;
      await store.dropEventsBefore(new Date("2100-01-01"));
      expect(await trail(store)).toEqual([]);
      await store.recordEvent(refusal("c"));
      expect((await store.listEvents(last, 10)).map(({ keyName }) => keyName)).toEqual(["c"]);
    }));

  test("The database itself lets nobody change an event", () =>
    withNewStore(engine, async (store, place) => {
      await store.recordEvent(refusal("deploy"));
      const before = await trail(store);
      const change = place.execute("UPDATE audit_event SET outcome = 'DONE'");
      await expect(change).rejects.toThrow("the audit trail is append-only");
      expect(await trail(store)).toEqual(before);
    }));
}
