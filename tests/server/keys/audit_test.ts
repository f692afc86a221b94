/** The audit trail as GraphQL shows it: who changed which key, from where, and what came of it. */
import { expect } from "expect";
import * as v from "valibot";
import type { NewEvent } from "../../../src/store/audit_event.ts";
import { openSqliteStore } from "../../../src/store/sqlite.ts";
import { inTemporaryDirectory } from "../../store/temporary_store.ts";
import {
  type Answer,
  asInput,
  ask,
  CREATE,
  createdKey,
  DELETE,
  type ShownKey,
  withServer,
} from "../graphql/graphql.ts";
import { type HttpTest, startHttp, withHttp } from "../http/http_server.ts";
import { until } from "../until.ts";

const EVENTS = `query ($after: String, $first: Int) {
  auditEvents(after: $after, first: $first) {
    id at action outcome actor { id name } address requestId key { id name }
  }
}`;

const key = v.object({ id: v.nullable(v.string()), name: v.nullable(v.string()) });
const event = v.object({
  id: v.string(),
  at: v.string(),
  action: v.string(),
  outcome: v.string(),
  actor: v.nullable(key),
  address: v.nullable(v.string()),
  requestId: v.nullable(v.string()),
  key,
});
const events = v.object({ auditEvents: v.array(event) });

type ShownEvent = v.InferOutput<typeof event>;

function eventsIn(answer: Answer): readonly ShownEvent[] {
  expect(answer.codes).toEqual([]);
  return v.parse(events, answer.data).auditEvents;
}

interface Audited extends HttpTest {
  /** Holds `API_KEY:CREATE_ANY`, `:READ_OWN`, `:DELETE_OWN`. */
  readonly actor: ShownKey;
  /** Another's. */
  readonly stranger: ShownKey;
  /** Asks as the actor, as request `request-1`. */
  readonly act: (query: string, variables: Readonly<Record<string, unknown>>) => Promise<Answer>;
  /** The events since the test began. */
  readonly trail: () => Promise<readonly ShownEvent[]>;
}

const RIGHTS = ["API_KEY:CREATE_ANY", "API_KEY:READ_OWN", "API_KEY:DELETE_OWN"];

/** Runs a test, and sees that neither a secret nor anything like it got into the trail. */
function withTrail(test: (server: Audited) => Promise<void>): Promise<void> {
  return withHttp(async (server) => {
    const actor = await server.create({ name: "actor", permissions: asInput(RIGHTS) });
    const stranger = await server.create({ name: "stranger", roles: ["GUEST"] });
    const { key: auditor } = await server.create({ name: "auditor", permissions: asInput(["LOGS:READ_ANY"]) });
    const before = (await server.store.listEvents(undefined, 1000)).at(-1)?.id;
    const trail = async (): Promise<readonly ShownEvent[]> =>
      eventsIn(await ask(server.network, EVENTS, { after: before }, auditor));
    await test({
      ...server,
      actor,
      stranger,
      act: (query, variables) => ask(server.network, query, variables, actor.key, { "x-request-id": "request-1" }),
      trail,
    });
    expect(JSON.stringify(await server.store.listEvents(undefined, 1000))).not.toMatch(/sak_\w{5}/);
    expect(server.errorLog).toEqual([]);
  });
}

/** An event by the actor. */
function by(actor: ShownKey, others: Partial<ShownEvent>): unknown {
  return {
    id: expect.stringMatching(/^\d+$/),
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    actor: { id: actor.id, name: actor.name },
    address: "127.0.0.1",
    requestId: "request-1",
    ...others,
  };
}

Deno.test("a key that is created is in the trail: when, by which key, from where, in which request", () =>
  withTrail(async ({ act, actor, trail }) => {
    const before = new Date().toISOString();
    const made = createdKey(await act(CREATE, { input: { name: "new", permissions: asInput(RIGHTS) } }));
    const [created, ...rest] = await trail();
    expect(rest).toEqual([]);
    expect(created).toEqual(by(actor, { action: "CREATE", outcome: "DONE", key: { id: made.id, name: "new" } }));
    expect(created?.at).toBe(made.createdAt);
    expect((created?.at ?? "") >= before).toBe(true);
  }));

Deno.test("of what is done beside the store no actor and no address are told", () =>
  withTrail(async ({ create, trail }) => {
    const { id } = await create({ name: "new", roles: ["GUEST"] });
    expect(await trail()).toEqual([
      expect.objectContaining({
        actor: null,
        address: null,
        requestId: null,
        key: { id, name: "new" },
        outcome: "DONE",
      }),
    ]);
  }));

Deno.test("an overwrite is the replacement of the old key and the creation of the new one", () =>
  withTrail(async ({ act, actor, trail }) => {
    const input = { name: "new", permissions: asInput(RIGHTS), overwrite: true };
    const old = createdKey(await act(CREATE, { input }));
    const fresh = createdKey(await act(CREATE, { input }));
    expect(await trail()).toEqual([
      by(actor, { action: "CREATE", outcome: "DONE", key: { id: old.id, name: "new" } }),
      by(actor, { action: "REPLACE", outcome: "DONE", key: { id: old.id, name: "new" } }),
      by(actor, { action: "CREATE", outcome: "DONE", key: { id: fresh.id, name: "new" } }),
    ]);
  }));

Deno.test("each key that is deleted is in the trail, with the name that it had", () =>
  withTrail(async ({ act, actor, trail }) => {
    const [one, two] = [
      createdKey(await act(CREATE, { input: { name: "one", permissions: asInput(RIGHTS) } })),
      createdKey(await act(CREATE, { input: { name: "two", permissions: asInput(RIGHTS) } })),
    ];
    await act(DELETE, { ids: [two.id, one.id] });
    const deleted = (await trail()).filter(({ action }) => action === "DELETE");
    expect(deleted.toSorted((a, b) => (a.key.name ?? "") < (b.key.name ?? "") ? -1 : 1)).toEqual([
      by(actor, { action: "DELETE", outcome: "DONE", key: { id: one.id, name: "one" } }),
      by(actor, { action: "DELETE", outcome: "DONE", key: { id: two.id, name: "two" } }),
    ]);
  }));

Deno.test("a key to delete that is not there is in the trail as NOT_FOUND, and those along with it are not", () =>
  withTrail(async ({ act, actor, trail }) => {
    expect((await act(DELETE, { ids: [actor.id, "key_nowhere"] })).data).toEqual({ apiKey: { delete: false } });
    expect(await trail()).toEqual([
      by(actor, { action: "DELETE", outcome: "NOT_FOUND", key: { id: "key_nowhere", name: null } }),
    ]);
  }));

for (
  const [what, name, recorded] of [
    ["with a hyphen", "not-allowed", "not-allowed"],
    ["of nothing", "", ""],
    ["with U+0000", "a\0b", "a\ufffdb"],
    ["with half a surrogate pair", "a\ud83d", "a\ufffd"],
    ["with the other half", "\ude80a", "\ufffda"],
    ["with control characters", "a\u001b[2J\r\n\u202eb", "a\u001b[2J\r\n\u202eb"],
    ["of 300 letters", "x".repeat(300), "x".repeat(255)],
    ["of 300 letters of two units", "\u{10400}".repeat(300), `${"\u{10400}".repeat(127)}\ufffd`],
  ] as const
) {
  Deno.test(`a name ${what} that is refused is in the trail, as far as it can be stored`, () =>
    withTrail(async ({ act, actor, trail }) => {
      const { codes } = await act(CREATE, { input: { name, permissions: asInput(RIGHTS) } });
      expect(codes).toEqual(["INVALID_NAME"]);
      expect(await trail()).toEqual([
        by(actor, { action: "CREATE", outcome: "INVALID_NAME", key: { id: null, name: recorded } }),
      ]);
    }));
}

for (
  const [what, input, outcome] of [
    ["without any right", { name: "new" }, "NO_RIGHTS"],
    ["of a name in use", { name: "stranger", permissions: asInput(RIGHTS) }, "ALREADY_EXISTS"],
    ["with rights that its creator lacks", { name: "new", roles: ["ADMIN"] }, "FORBIDDEN"],
    ["in place of another's", { name: "stranger", permissions: asInput(RIGHTS), overwrite: true }, "FORBIDDEN"],
    ["with a description that cannot be stored", { name: "new", roles: ["GUEST"], description: "\0" }, "USAGE"],
  ] as const
) {
  Deno.test(`a key ${what} is refused, and that is in the trail as ${outcome}`, () =>
    withTrail(async ({ act, actor, stranger, trail, store }) => {
      const { codes } = await act(CREATE, { input });
      expect(codes).toEqual([outcome]);
      const id = input.name === "stranger" ? stranger.id : null;
      expect(await trail()).toEqual([by(actor, { action: "CREATE", outcome, key: { id, name: input.name } })]);
      expect(await Array.fromAsync(store.list())).toHaveLength(3);
    }));
}

Deno.test("that a key of others was to be deleted is in the trail as FORBIDDEN, with the name of that key", () =>
  withTrail(async ({ act, actor, stranger, trail }) => {
    expect((await act(DELETE, { ids: [stranger.id] })).codes).toEqual(["FORBIDDEN"]);
    expect(await trail()).toEqual([
      by(actor, { action: "DELETE", outcome: "FORBIDDEN", key: { id: stranger.id, name: "stranger" } }),
    ]);
  }));

Deno.test("what a key without the right asks for is in the trail as FORBIDDEN, for all that it names", () =>
  withTrail(async ({ network, stranger, actor, trail }) => {
    const asStranger = (query: string, variables: Readonly<Record<string, unknown>>): Promise<Answer> =>
      ask(network, query, variables, stranger.key, { "x-request-id": "request-1" });
    expect((await asStranger(CREATE, { input: { name: "na-me", roles: ["GUEST"] } })).codes).toEqual(["FORBIDDEN"]);
    expect((await asStranger(DELETE, { ids: [actor.id, "key_2"] })).codes).toEqual(["FORBIDDEN"]);
    expect((await asStranger(DELETE, { ids: ["a\0".repeat(200)] })).codes).toEqual(["FORBIDDEN"]);
    expect((await asStranger(DELETE, { ids: [] })).codes).toEqual(["FORBIDDEN"]);
    expect(await trail()).toEqual([
      by(stranger, { action: "CREATE", outcome: "FORBIDDEN", key: { id: null, name: "na-me" } }),
      by(stranger, { action: "DELETE", outcome: "FORBIDDEN", key: { id: actor.id, name: null } }),
      by(stranger, { action: "DELETE", outcome: "FORBIDDEN", key: { id: `${"a\ufffd".repeat(127)}a`, name: null } }),
      by(stranger, { action: "DELETE", outcome: "FORBIDDEN", key: { id: null, name: null } }),
    ]);
  }));

Deno.test("an id that no key can have is in the trail no longer than others, and as text", () =>
  withTrail(async ({ act, actor, trail }) => {
    expect((await act(DELETE, { ids: [`\ud800\0${"x".repeat(1000)}`] })).data).toEqual({ apiKey: { delete: false } });
    expect(await trail()).toEqual([
      by(actor, { action: "DELETE", outcome: "NOT_FOUND", key: { id: `\ufffd\ufffd${"x".repeat(253)}`, name: null } }),
    ]);
  }));

Deno.test("a secret that is given for a name or an id is not in the trail", () =>
  withTrail(async ({ act, network, actor, stranger, trail }) => {
    expect((await act(CREATE, { input: { name: actor.key, permissions: asInput(RIGHTS) } })).codes).toEqual([
      "INVALID_NAME",
    ]);
    expect((await act(DELETE, { ids: [actor.key] })).data).toEqual({ apiKey: { delete: false } });
    await ask(network, DELETE, { ids: [actor.key] }, stranger.key);
    await ask(network, CREATE, { input: { name: actor.key, roles: ["GUEST"] } }, stranger.key, {
      "x-request-id": actor.key,
    });
    const text = JSON.stringify(await trail());
    expect(text).not.toContain(actor.key);
    expect((await trail()).map(({ outcome }) => outcome)).toEqual([
      "INVALID_NAME",
      "NOT_FOUND",
      "FORBIDDEN",
      "FORBIDDEN",
    ]);
  }));

Deno.test("behind a proxy the trail has the client's address, and a request without an id one of the server's", () =>
  withHttp(async ({ network, store, create }) => {
    const { key } = await create({ name: "actor", permissions: asInput(RIGHTS) });
    await ask(network, DELETE, { ids: ["key_1"] }, key, { "x-forwarded-for": "198.51.100.1, 2001:db8::7" });
    expect((await store.listEvents(undefined, 10)).at(-1)).toMatchObject({
      address: "2001:db8::7",
      requestId: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    });
  }, { trustedProxies: ["127.0.0.1"] }));

Deno.test("requests that change nothing, and those without a valid key, are not in the trail", () =>
  withTrail(async ({ act, network, actor, trail }) => {
    await act("{ apiKeys { id } me { id } }", {});
    await act("mutation { apiKey { refusesTakenNames } }", {});
    await act("mutation { apiKey { create(input: {}) { id } } }", {});
    await act("{ auditEvents { id } }", {});
    await ask(network, DELETE, { ids: [actor.id] });
    await ask(network, DELETE, { ids: [actor.id] }, "sak_bad");
    expect(await trail()).toEqual([]);
  }));

Deno.test("the trail cannot be written through GraphQL, and stays when its keys are gone", () =>
  withTrail(async ({ act, actor, trail }) => {
    await act(DELETE, { ids: [actor.id] });
    expect((await act("{ me { id } }", {})).status).toBe(401);
    expect(await trail()).toEqual([
      by(actor, { action: "DELETE", outcome: "DONE", key: { id: actor.id, name: "actor" } }),
    ]);
  }));

Deno.test("reading the trail needs LOGS:READ_ANY, which LOGS:READ_OWN is not", () =>
  withServer(async ({ network, keyWith, create }) => {
    const { key } = await keyWith("LOGS:READ_OWN", "API_KEY:READ_ANY");
    const { codes, messages } = await ask(network, EVENTS, {}, key);
    expect(codes).toEqual(["FORBIDDEN"]);
    expect(messages[0]).toContain("LOGS:READ_ANY");
    const viewer = await create({ name: "viewer", roles: ["VIEWER"] });
    expect(eventsIn(await ask(network, EVENTS, {}, viewer.key))).toHaveLength(2);
  }));

/** An event of that time, by the local caller. */
function eventAt(at: Date, keyName: string): NewEvent {
  return { at, actor: null, address: null, requestId: null, action: "CREATE", keyId: null, keyName, outcome: "DONE" };
}

/** Runs a test on a trail of so many events, named 0, 1, 2 and so on. */
function withEvents(
  count: number,
  test: (page: (variables: Readonly<Record<string, unknown>>) => Promise<Answer>) => Promise<void>,
): Promise<void> {
  return withServer(async ({ store, local }) => {
    await Promise.all(Array.from({ length: count }, (_, i) => store.recordEvent(eventAt(new Date(), String(i)))));
    await test((variables) => ask(local, EVENTS, variables));
  });
}

const namesIn = (answer: Answer): readonly (string | null)[] => eventsIn(answer).map(({ key: { name } }) => name);

Deno.test("the trail comes oldest first, 100 events at once unless more are asked for, 1000 at most", () =>
  withEvents(1100, async (page) => {
    const names = Array.from({ length: 1100 }, (_, i) => String(i));
    expect(namesIn(await page({}))).toEqual(names.slice(0, 100));
    expect(namesIn(await page({ first: 1 }))).toEqual(names.slice(0, 1));
    expect(namesIn(await page({ first: 1000 }))).toEqual(names.slice(0, 1000));
  }));

Deno.test("page by page each event comes once, and after the last there are none", () =>
  withEvents(25, async (page) => {
    const all = eventsIn(await page({}));
    const names: (string | null)[] = [];
    for (let after = "0";;) {
      // deno-lint-ignore no-await-in-loop -- a page begins where the one before it ends
      const next = eventsIn(await page({ after, first: 10 }));
      names.push(...next.map(({ key: { name } }) => name));
      if (next.length < 10) break;
      after = next.at(-1)?.id ?? "";
    }
    expect(names).toEqual(all.map(({ key: { name } }) => name));
    expect(namesIn(await page({ after: all.at(-1)?.id }))).toEqual([]);
    expect(namesIn(await page({ after: "999999999999999999" }))).toEqual([]);
    expect(namesIn(await page({ after: null, first: 1 }))).toEqual(["0"]);
    expect(namesIn(await page({ after: "0", first: 1 }))).toEqual(["0"]);
  }));

for (
  const variables of [
    ...["", "abc", "-1", "1.5", "1e3", "9999999999999999999", " 1", "1; DROP TABLE audit_event"].map((after) => ({
      after,
    })),
    ...[0, -1, 1001, 2 ** 31 - 1].map((first) => ({ first })),
  ]
) {
  Deno.test(`a page of the trail with ${JSON.stringify(variables)} is refused as USAGE`, () =>
    withEvents(1, async (page) => {
      const { codes, messages } = await page(variables);
      expect(codes).toEqual(["USAGE"]);
      expect(messages[0]).toContain("after" in variables ? "after takes" : "first takes a number from 1 to 1000");
    }));
}

Deno.test("events older than the retention are dropped when the server starts, and the others stay", () =>
  inTemporaryDirectory(async (directory) => {
    const store = await openSqliteStore({ directory, busyTimeout: 5000 });
    const now = Date.parse("2026-02-03T04:05:06.789Z");
    for (const age of [5000, 1001, 1000, 999, 0]) {
      // deno-lint-ignore no-await-in-loop -- in that order
      await store.recordEvent(eventAt(new Date(now - age), String(age)));
    }
    const names = async (): Promise<readonly (string | null)[]> =>
      (await store.listEvents(undefined, 10)).map(({ keyName }) => keyName);
    const keeping = await startHttp(store, { auditRetention: 1000, now: () => new Date(now) });
    await until(async () => (await names()).length < 5);
    expect(await names()).toEqual(["1000", "999", "0"]);
    await keeping.stop(1000);
  }));

Deno.test("a server that is stopped as soon as it has started drops old events without an error, or leaves them", () =>
  inTemporaryDirectory(async (directory) => {
    const store = await openSqliteStore({ directory, busyTimeout: 5000 });
    await Promise.all(Array.from({ length: 3000 }, () => store.recordEvent(eventAt(new Date(0), "old"))));
    const errors: unknown[] = [];
    const server = await startHttp(store, { auditRetention: 1000, logError: (...error) => void errors.push(error) });
    await server.stop(1000);
    expect(errors).toEqual([]);
  }));
