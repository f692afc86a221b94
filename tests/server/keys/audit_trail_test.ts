/** The audit trail as GraphQL shows it: who changed which key, from where, and with which outcome. */
import { expect } from "expect";
import * as z from "zod";
import type { NewEvent } from "../../../src/store/audit_event.ts";
import { openSqliteStore } from "../../../src/store/sqlite.ts";
import { inTemporaryDirectory } from "../../store/temporary_store.ts";
import {
  type ApiKey,
  CREATE,
  createdKey,
  DELETE,
  keysIn,
  LOCAL_ORIGIN,
  NOW,
  post,
  type Result,
  toInput,
  withServer,
} from "../graphql/graphql.ts";
import { type HttpTest, startHttp, withHttp } from "../http/http_server.ts";
import { until } from "../until.ts";

const EVENTS = `query ($after: String, $first: Int) {
  auditEvents(after: $after, first: $first) {
    id at action outcome actor { id name } address requestId key { id name } occurrences
  }
}`;

const key = z.object({ id: z.string().nullable(), name: z.string().nullable() });
const event = z.object({
  id: z.string(),
  at: z.string(),
  action: z.string(),
  outcome: z.string(),
  actor: key.nullable(),
  address: z.string().nullable(),
  requestId: z.string().nullable(),
  key,
  occurrences: z.number(),
});
const events = z.object({ auditEvents: z.array(event) });

type AuditEvent = z.infer<typeof event>;

function eventsIn({ codes, data }: Result): readonly AuditEvent[] {
  expect(codes).toEqual([]);
  return events.parse(data).auditEvents;
}

interface AuditTest extends HttpTest {
  /** A key with {@linkcode RIGHTS}. */
  readonly actor: ApiKey;
  /** A key that the actor did not create. */
  readonly stranger: ApiKey;
  /** Posts with the actor's key and the request id `request-1`. */
  readonly act: (query: string, variables?: Readonly<Record<string, unknown>>) => Promise<Result>;
  /** Returns the events since the test began. */
  readonly trail: () => Promise<readonly AuditEvent[]>;
}

const RIGHTS = ["API_KEY:CREATE_ANY", "API_KEY:READ_OWN", "API_KEY:DELETE_OWN"];
const REQUEST_ID = { "x-request-id": "request-1" };

/** Runs a test. Then checks that the trail contains no secrets and that no error was logged. */
function withTrail(test: (server: AuditTest) => Promise<void>): Promise<void> {
  return withHttp(async (server) => {
    const actor = await server.create({ name: "actor", permissions: toInput(RIGHTS) });
    const stranger = await server.create({ name: "stranger", roles: ["GUEST"] });
    const { key: auditor } = await server.create({ name: "auditor", permissions: toInput(["LOGS:READ_ANY"]) });
    const last = (await server.store.listEvents(undefined, 1000)).at(-1)?.id;
    const act: AuditTest["act"] = (query, variables) => post(server.network, query, variables, actor.key, REQUEST_ID);
    const trail: AuditTest["trail"] = async () =>
      eventsIn(await post(server.network, EVENTS, { after: last }, auditor));
    await test({ ...server, actor, stranger, act, trail });
    expect(JSON.stringify(await server.store.listEvents(undefined, 1000))).not.toMatch(/sak_\w{5}/);
    expect(server.errorLog).toEqual([]);
  });
}

/** Returns the expected event for a request by a key. */
function eventBy(actor: ApiKey, action: string, outcome: string, key: AuditEvent["key"]): unknown {
  return {
    id: expect.stringMatching(/^\d+$/),
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    actor: { id: actor.id, name: actor.name },
    address: "127.0.0.1",
    requestId: "request-1",
    action,
    outcome,
    key,
    occurrences: 1,
  };
}

Deno.test("The creation of a key is recorded with the time, actor, address and request id", () =>
  withTrail(async ({ act, actor, trail }) => {
    const { id, createdAt } = createdKey(await act(CREATE, { input: { name: "new", permissions: toInput(RIGHTS) } }));
    const recorded = await trail();
    expect(recorded).toEqual([eventBy(actor, "CREATE", "DONE", { id, name: "new" })]);
    expect(recorded[0]?.at).toBe(createdAt);
  }));

Deno.test("A change by the local caller is recorded without an actor, an address or a request id", () =>
  withTrail(async ({ create, trail }) => {
    const { id } = await create({ name: "new", roles: ["GUEST"] });
    expect(await trail()).toEqual([
      expect.objectContaining({ actor: null, address: null, requestId: null, key: { id, name: "new" } }),
    ]);
  }));

for (
  const [what, input, outcome] of [
    ["with an invalid name", { name: "a\0b", permissions: toInput(RIGHTS) }, "INVALID_NAME"],
    ["without rights", { name: "new" }, "NO_RIGHTS"],
    ["with a name in use", { name: "stranger", permissions: toInput(RIGHTS) }, "ALREADY_EXISTS"],
    ["with rights that the actor lacks", { name: "new", roles: ["ADMIN"] }, "FORBIDDEN"],
    [
      "that replaces another caller's key",
      { name: "stranger", permissions: toInput(RIGHTS), overwrite: true },
      "FORBIDDEN",
    ],
    ["with an invalid description", { name: "new", permissions: toInput(RIGHTS), description: "\0" }, "USAGE"],
  ] as const
) {
  Deno.test(`A refused request to create a key ${what} is recorded as ${outcome}`, () =>
    withTrail(async ({ act, actor, stranger, trail, store }) => {
      expect((await act(CREATE, { input })).codes).toEqual([outcome]);
      const id = input.name === "stranger" ? stranger.id : null;
      expect(await trail()).toEqual([
        eventBy(actor, "CREATE", outcome, { id, name: input.name.replace("\0", "\ufffd") }),
      ]);
      expect(await keysIn(store)).toHaveLength(3);
    }));
}

Deno.test("A refused request to delete a key is recorded with the id and name of the key", () =>
  withTrail(async ({ act, actor, stranger, trail }) => {
    expect((await act(DELETE, { ids: [stranger.id] })).codes).toEqual(["FORBIDDEN"]);
    expect(await trail()).toEqual([
      eventBy(actor, "DELETE", "FORBIDDEN", { id: stranger.id, name: "stranger" }),
    ]);
  }));

Deno.test("If a key has no permission to create or delete keys, its request to do so is recorded as FORBIDDEN, with the name in the request, or the first id in it and the name of that key", () =>
  withTrail(async ({ network, stranger, actor, trail }) => {
    for (
      const [query, variables] of [
        [CREATE, { input: { name: "na-me", roles: ["GUEST"] } }],
        [DELETE, { ids: [actor.id, "key_2"] }],
        [DELETE, { ids: ["a\0"] }],
        [DELETE, { ids: [] }],
      ] as const
    ) {
      // deno-lint-ignore no-await-in-loop -- the order matters
      const { codes } = await post(network, query, variables, stranger.key, REQUEST_ID);
      expect(codes).toEqual(["FORBIDDEN"]);
    }
    expect(await trail()).toEqual([
      eventBy(stranger, "CREATE", "FORBIDDEN", { id: null, name: "na-me" }),
      eventBy(stranger, "DELETE", "FORBIDDEN", { id: actor.id, name: "actor" }),
      eventBy(stranger, "DELETE", "FORBIDDEN", { id: "a\ufffd", name: null }),
      eventBy(stranger, "DELETE", "FORBIDDEN", { id: null, name: null }),
    ]);
  }));

Deno.test("A request to delete a key that does not exist is recorded as NOT_FOUND, with the id", () =>
  withTrail(async ({ network, create, actor, trail }) => {
    const cleaner = await create({ name: "cleaner", permissions: toInput(["API_KEY:DELETE_ANY"]) });
    const ids = [actor.id, "key_nowhere", "key_2"];
    const { data } = await post(network, DELETE, { ids }, cleaner.key, REQUEST_ID);
    expect(data).toEqual({ apiKey: { delete: false } });
    expect((await trail()).slice(1)).toEqual([
      eventBy(cleaner, "DELETE", "NOT_FOUND", { id: "key_nowhere", name: null }),
    ]);
  }));

Deno.test("A secret that is sent as a description or as managedBy is not recorded", () =>
  withTrail(async ({ act, actor: { key: secret }, trail }) => {
    const input = { name: "new", permissions: toInput(RIGHTS), description: `Use ${secret}`, managedBy: secret };
    await act(CREATE, { input });
    const recorded = await trail();
    expect(recorded.map(({ outcome }) => outcome)).toEqual(["DONE"]);
  }));

Deno.test("A secret that is sent as a name, an id or a request id is not recorded", () =>
  withTrail(async ({ act, network, actor: { key: secret }, stranger, trail }) => {
    const input = { name: secret, permissions: toInput(RIGHTS) };
    await act(CREATE, { input });
    await act(DELETE, { ids: [secret] });
    await post(network, DELETE, { ids: [secret] }, stranger.key);
    await post(network, CREATE, { input }, stranger.key, { "x-request-id": secret });
    const recorded = await trail();
    expect(recorded.map(({ outcome }) => outcome)).toEqual(["INVALID_NAME", "FORBIDDEN", "FORBIDDEN", "FORBIDDEN"]);
    expect(JSON.stringify(recorded)).not.toContain(secret);
  }));

Deno.test("Behind a trusted proxy, the client's address is recorded, and the server generates a missing request id", () =>
  withHttp(async ({ network, store, create }) => {
    const { key } = await create({ name: "actor", permissions: toInput(RIGHTS) });
    await post(network, DELETE, { ids: ["key_1"] }, key, { "x-forwarded-for": "198.51.100.1, 2001:db8::7" });
    expect((await store.listEvents(undefined, 10)).at(-1)).toMatchObject({
      address: "2001:db8::7",
      requestId: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    });
  }, { trustedProxies: ["127.0.0.1"] }));

Deno.test("Queries, mutations that are invalid GraphQL, and requests without a valid key are not recorded", () =>
  withTrail(async ({ act, network, actor, trail }) => {
    await act("{ apiKeys { id } me { id } }");
    await act("mutation { apiKey { refusesTakenNames } }");
    await act("mutation { apiKey { create(input: {}) { id } } }");
    await act("{ auditEvents { id } }");
    await post(network, DELETE, { ids: [actor.id] });
    await post(network, DELETE, { ids: [actor.id] }, "sak_bad");
    expect(await trail()).toEqual([]);
  }));

Deno.test("Reading the audit trail needs LOGS:READ_ANY, which the role VIEWER has; LOGS:READ_OWN is not enough", () =>
  withServer(async ({ network, keyWith, create }) => {
    const { key } = await keyWith("LOGS:READ_OWN", "API_KEY:READ_ANY");
    const { codes, messages } = await post(network, EVENTS, {}, key);
    expect(codes).toEqual(["FORBIDDEN"]);
    expect(messages[0]).toContain("LOGS:READ_ANY");
    const viewer = await create({ name: "viewer", roles: ["VIEWER"] });
    expect(eventsIn(await post(network, EVENTS, {}, viewer.key))).toHaveLength(2);
  }));

function eventAt(at: Date, keyName: string): NewEvent {
  return { ...LOCAL_ORIGIN, at, action: "CREATE", keyId: null, keyName, outcome: "DONE" };
}

/** Runs a test on a trail of `count` events. The keys in the events are named 0, 1, 2 and so on. */
function withEvents(
  count: number,
  test: (read: (variables?: Readonly<Record<string, unknown>>) => Promise<Result>) => Promise<void>,
): Promise<void> {
  return withServer(async ({ store, local }) => {
    await Promise.all(Array.from({ length: count }, (_, i) => store.recordEvent(eventAt(NOW, String(i)))));
    await test((variables) => post(local, EVENTS, variables));
  });
}

const namesOf = (page: Result): readonly (string | null)[] => eventsIn(page).map(({ key: { name } }) => name);

Deno.test("auditEvents returns the events after the given id, oldest first, 100 by default and at most 1000", () =>
  withEvents(1001, async (read) => {
    const names = Array.from({ length: 1001 }, (_, i) => String(i));
    expect(namesOf(await read())).toEqual(names.slice(0, 100));
    const page = await read({ first: 1000 });
    expect(namesOf(page)).toEqual(names.slice(0, 1000));
    expect(namesOf(await read({ after: eventsIn(page).at(-1)?.id }))).toEqual(["1000"]);
    expect(namesOf(await read({ after: "999999999999999999" }))).toEqual([]);
  }));

Deno.test("An `after` that is not an event id and a `first` that is out of range are rejected with USAGE", () =>
  withEvents(1, async (read) => {
    for (const after of ["", "abc", "-1", "1.5", "9999999999999999999", "1; DROP TABLE audit_event"]) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      expect(await read({ after })).toMatchObject({
        codes: ["USAGE"],
        messages: ["after must be the id of an event."],
      });
    }
    for (const first of [0, -1, 1001]) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      expect(await read({ first })).toMatchObject({
        codes: ["USAGE"],
        messages: ["first must be a number from 1 to 1000."],
      });
    }
  }));

for (const [clock, now] of [["right", NOW], ["wrong", new Date("2099-01-01")]] as const) {
  Deno.test(`If the clock of the server is ${clock}, the server deletes the events that are older than the retention period, and no others`, () =>
    inTemporaryDirectory(async (directory) => {
      const store = await openSqliteStore({ directory, busyTimeout: 5000 });
      for (const age of [5000, 1001, 1000, 0]) {
        // deno-lint-ignore no-await-in-loop -- the order matters
        await store.recordEvent(eventAt(new Date(NOW.getTime() - age), String(age)));
      }
      const names = async (): Promise<readonly (string | null)[]> =>
        (await store.listEvents(undefined, 10)).map(({ keyName }) => keyName);
      const server = await startHttp(store, { auditRetention: 1000, retentionInterval: 1, now: () => now });
      await until(async () => (await names()).length < 4);
      expect(await names()).toEqual(["1000", "0"]);
      await server.stop(1000);
    }));
}

Deno.test("A server that is stopped while it deletes old events logs no error", () =>
  inTemporaryDirectory(async (directory) => {
    const store = await openSqliteStore({ directory, busyTimeout: 5000 });
    await Promise.all(Array.from({ length: 3000 }, () => store.recordEvent(eventAt(new Date(0), "old"))));
    const errors: unknown[] = [];
    const server = await startHttp(store, {
      auditRetention: 1000,
      retentionInterval: 1,
      logError: (...error) => void errors.push(error),
    });
    await store.recordEvent(eventAt(new Date(5000), "new"));
    await until(async () => (await store.listEvents(undefined, 3000)).length < 3000);
    await server.stop(1000);
    expect(errors).toEqual([]);
  }));
