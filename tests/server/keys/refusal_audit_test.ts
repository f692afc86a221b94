/** Refused changes that one caller repeats: the audit trail counts them instead of repeating them. */
import { expect } from "expect";
import type { NewEvent } from "../../../src/store/audit_event.ts";
import { RefusalAudit } from "../../../src/server/keys/refusal_audit.ts";
import { openLocalServer } from "../../../src/server/open_server.ts";
import { inBatches, inSequence } from "../../store/changes.ts";
import { inTemporaryDirectory, withStoreIn } from "../../store/temporary_store.ts";
import { CREATE, DELETE, NOW, post } from "../graphql/graphql.ts";
import { withHttp } from "../http/http_server.ts";
import { replaceMethods } from "../replaced_store.ts";

const MINUTE = 60_000;

/** A refusal of a request by a key. */
function refusalOf(actor: string, fields: Partial<NewEvent> = {}): NewEvent {
  return {
    at: NOW,
    actor: { id: actor, name: "a name" },
    address: "203.0.113.7",
    requestId: "request-1",
    action: "DELETE",
    keyId: "key_target",
    keyName: null,
    outcome: "FORBIDDEN",
    ...fields,
  };
}

/** A `RefusalAudit` over a store that can fail, with a clock that the test sets. */
function newAudit(): {
  readonly audit: RefusalAudit;
  readonly recorded: NewEvent[];
  readonly errors: string[];
  readonly clock: { elapsed: number; isStoreDown: boolean };
  readonly repeat: (count: number, event: NewEvent) => Promise<void>;
} {
  const recorded: NewEvent[] = [];
  const errors: string[] = [];
  const clock = { elapsed: 5, isStoreDown: false };
  const recordEvent = (event: NewEvent): Promise<void> => {
    if (clock.isStoreDown) return Promise.reject(new Error("down"));
    recorded.push(event);
    return Promise.resolve();
  };
  const audit = new RefusalAudit({ recordEvent }, (message) => void errors.push(message), () => clock.elapsed);
  const repeat = (count: number, event: NewEvent): Promise<void> =>
    inSequence(Array(count).fill(event), (same) => audit.record(same));
  return { audit, recorded, errors, clock, repeat };
}

/** Returns how many refusals each event stands for. */
function occurrencesIn(events: readonly NewEvent[]): readonly (number | undefined)[] {
  return events.map(({ occurrences }) => occurrences);
}

const TEN = Array(10).fill(1);

Deno.test("After ten refusals of one kind in a minute, one event stands for the others and describes the last one", async () => {
  const { audit, recorded, repeat } = newAudit();
  await repeat(24, refusalOf("key_1"));
  const last = refusalOf("key_1", { at: new Date(NOW.getTime() + 1), keyId: "key_last", requestId: "request-2" });
  await audit.record(last);
  expect(recorded).toEqual(Array(10).fill({ ...refusalOf("key_1"), occurrences: 1 }));
  await audit.write();
  expect(recorded.slice(10)).toEqual([{ ...last, occurrences: 15 }]);
  await audit.write();
  expect(recorded).toHaveLength(11);
});

Deno.test("Refusals that arrive at the same time are counted exactly", async () => {
  const { audit, recorded } = newAudit();
  await Promise.all(Array.from({ length: 50 }, () => audit.record(refusalOf("key_1"))));
  await Promise.all([audit.write(), audit.write()]);
  expect(occurrencesIn(recorded)).toEqual([...TEN, 40]);
});

Deno.test("Refusals of another key, action or outcome, or without a key from another address, are counted separately", async () => {
  const { recorded, repeat } = newAudit();
  const kinds = [
    refusalOf("key_1"),
    refusalOf("key_2"),
    refusalOf("key_1", { action: "CREATE" }),
    refusalOf("key_1", { outcome: "NOT_FOUND" }),
    refusalOf("", { actor: null }),
    refusalOf("", { actor: null, address: "203.0.113.8" }),
    refusalOf("", { actor: null, address: null }),
  ];
  await inSequence(kinds, (kind) => repeat(11, kind));
  expect(recorded).toEqual(kinds.flatMap((kind) => Array(10).fill({ ...kind, occurrences: 1 })));
});

Deno.test("A key that changes its address is still counted as the same caller", async () => {
  const { recorded, repeat } = newAudit();
  await inSequence([1, 2, 3], (i) => repeat(10, refusalOf("key_1", { address: `203.0.113.${i}` })));
  expect(recorded).toHaveLength(10);
});

Deno.test("In the next minute, refusals have their own events again, and no count is lost", async () => {
  const { audit, recorded, clock, repeat } = newAudit();
  await repeat(12, refusalOf("key_1"));
  clock.elapsed += MINUTE - 1;
  await repeat(1, refusalOf("key_1"));
  expect(recorded).toHaveLength(10);
  clock.elapsed += 1;
  await repeat(11, refusalOf("key_1"));
  expect(recorded).toHaveLength(20);
  await audit.write();
  expect(occurrencesIn(recorded)).toEqual([...TEN, ...TEN, 4]);
  clock.elapsed += MINUTE;
  await audit.write();
  await repeat(1, refusalOf("key_1"));
  expect(recorded).toHaveLength(22);
});

Deno.test("If the store is unavailable, refusals are counted and recorded when the store is available again", async () => {
  const { audit, recorded, errors, clock, repeat } = newAudit();
  clock.isStoreDown = true;
  await repeat(12, refusalOf("key_1"));
  await audit.write();
  expect(errors).toEqual(Array(11).fill("Could not record a refusal in the audit trail: {error}"));
  clock.isStoreDown = false;
  await audit.write();
  expect(occurrencesIn(recorded)).toEqual([12]);
});

Deno.test("If too many callers are refused, the oldest count is recorded and forgotten", async () => {
  const { recorded, repeat } = newAudit();
  await repeat(15, refusalOf("key_0"));
  await inSequence(Array(9_999).keys(), (i) => repeat(1, refusalOf(`key_${i + 1}`)));
  expect(recorded).toHaveLength(10 + 9_999);
  await repeat(1, refusalOf("key_10000"));
  expect(recorded.slice(-2).map(({ actor, occurrences }) => [actor?.id, occurrences])).toEqual([
    ["key_0", 5],
    ["key_10000", 1],
  ]);
});

Deno.test("If a key without rights sends 200 forbidden requests, eleven events stand for all of them when the server has stopped", async () => {
  const recorded: NewEvent[] = [];
  const recordEvent = (event: NewEvent): Promise<void> => Promise.resolve(void recorded.push(event));
  await withHttp(async ({ network, create, server }) => {
    const { id, key } = await create({ name: "guest", roles: ["GUEST"] });
    await inBatches(Array(200).keys().toArray(), () => post(network, DELETE, { ids: ["key_1"] }, key));
    await server.stop(1000);
    expect(occurrencesIn(recorded)).toEqual([...TEN, 190]);
    expect(recorded.at(-1)).toMatchObject({ actor: { id }, action: "DELETE", outcome: "FORBIDDEN" });
  }, { wrap: (store) => replaceMethods(store, { recordEvent }) });
});

Deno.test("A command that stops records the refusals that it counted", () =>
  inTemporaryDirectory(async (directory) => {
    const server = await openLocalServer({
      location: { kind: "directory", path: directory },
      busyTimeout: 5000,
      localUser: undefined,
      validDocuments: [],
      now: () => NOW,
      logError: () => {},
    });
    // A refused change does not create a store.
    await post(server.fetch, CREATE, { input: { name: "first", roles: ["GUEST"] } });
    const input = { name: "-", roles: ["GUEST"] };
    await inSequence(Array(30).keys(), () => post(server.fetch, CREATE, { input }));
    await server.close();
    await withStoreIn(directory, async (store) => {
      const events = await store.listEvents(undefined, 1000);
      expect(events.slice(1).map(({ outcome, occurrences }) => [outcome, occurrences])).toEqual(
        [...TEN, 20].map((occurrences) => ["INVALID_NAME", occurrences]),
      );
    });
  }));
