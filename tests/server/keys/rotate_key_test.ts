/** Rotating a key: the new secret, the grace period of the old one, and the expiry. */
import { expect } from "expect";
import {
  after,
  type ApiKey,
  changedKey,
  type Clock,
  CREATE,
  createdKey,
  DELETE,
  LIST,
  type LivingKey,
  NOW,
  post,
  type Result,
  ROTATE,
  type TestServer,
  toInput,
  UPDATE,
  withClock,
} from "../graphql/graphql.ts";

const ME = "{ me { id expiresAt } }";
const EVENTS = "{ auditEvents { action outcome key { id name } changes { field before after } } }";

interface Rotation {
  readonly old: ApiKey;
  readonly server: TestServer;
  readonly clock: Clock;
  /** Rotates the key as the local caller. */
  readonly rotate: (input?: Readonly<Record<string, unknown>>) => Promise<LivingKey>;
  /** Sends a request with a secret and returns the status and, if it is not 200, the message. */
  readonly use: (secret: string) => Promise<string>;
}

/** Runs a test with a key that can do everything to itself. */
function withRotation(
  test: (rotation: Rotation) => Promise<void>,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  return withClock(async (server, clock) => {
    const permissions = toInput(["API_KEY:CREATE_ANY", "API_KEY:READ_ANY", "API_KEY:UPDATE_OWN", "API_KEY:DELETE_OWN"]);
    const old = await server.create({ name: "ci", permissions, ...fields });
    await test({
      old,
      server,
      clock,
      rotate: async (input) => changedKey(await post(server.local, ROTATE, { input: { id: old.id, ...input } })),
      use: async (secret) => {
        const { status, messages } = await post(server.network, ME, {}, secret);
        return [status, ...messages].join(" ");
      },
    });
  });
}

function expectForbidden({ codes, messages }: Result): void {
  expect(codes).toEqual(["FORBIDDEN"]);
  expect(messages[0]).toMatch(/needs its current secret\..* To store it in a profile, run service-api login\.$/);
}

Deno.test("Rotating gives a key a new secret and keeps everything else; the old secret gets 401 with `rotated`", () =>
  withRotation(async ({ old, rotate, use, server: { local } }) => {
    expect(await use(old.key)).toBe("200");
    const before = changedKey(await post(local, UPDATE, { input: { id: old.id } }));
    const { key, ...rotated } = await rotate();
    expect(key).toMatch(/^sak_[0-9A-Za-z]{49}$/);
    expect(key).not.toBe(old.key);
    const { key: _, ...expected } = { ...before, revision: 2, updatedAt: NOW.toISOString() };
    expect(rotated).toEqual(expected);
    expect(await use(key)).toBe("200");
    expect(await use(old.key)).toBe(
      "401 The key was rotated, and this secret is no longer valid. Use the new secret.",
    );
  }));

Deno.test("A key can be rotated by name, and exactly one of id and name must be given", () =>
  withRotation(async ({ old, server: { local } }) => {
    const { id } = old;
    expect(changedKey(await post(local, ROTATE, { input: { name: " ci " } })).id).toBe(id);
    expect(changedKey(await post(local, ROTATE, { input: { name: "ci", id: null } })).id).toBe(id);
    for (const input of [{}, { id, name: "ci" }, { id: null, name: null }]) {
      // deno-lint-ignore no-await-in-loop -- only three requests
      expect(await post(local, ROTATE, { input })).toMatchObject({
        codes: ["USAGE"],
        messages: ["Give exactly one of id and name."],
      });
    }
    expect((await post(local, ROTATE, { input: { name: "other" } })).messages).toEqual([
      'No API key found with name: "other".',
    ]);
  }));

Deno.test("With a grace period, both secrets work until it ends, and the old one gets 401 from that moment on", () =>
  withRotation(async ({ old, rotate, use, clock }) => {
    expect(await use(old.key)).toBe("200");
    const { key, graceUntil } = await rotate({ graceSeconds: 60 });
    expect(graceUntil).toBe(after(60));
    clock.now = new Date(after(59.999));
    expect([await use(old.key), await use(key)]).toEqual(["200", "200"]);
    clock.now = new Date(after(60));
    expect(await use(old.key)).toContain("401 The key was rotated");
    expect(await use(key)).toBe("200");
  }));

Deno.test("The grace period never outlasts the expiry that the old secret had", () =>
  withRotation(async ({ old, rotate, use, clock }) => {
    const { graceUntil, expiresAt, key } = await rotate({ graceSeconds: 3600, expiresAt: after(7200) });
    expect({ graceUntil, expiresAt }).toEqual({ graceUntil: after(100), expiresAt: after(7200) });
    clock.now = new Date(after(100));
    expect(await use(old.key)).toContain("401 The key was rotated");
    expect(await use(key)).toBe("200");
  }, { expiresAt: after(100) }));

Deno.test("A second rotation ends the grace period of the first secret at once", () =>
  withRotation(async ({ old, rotate, use }) => {
    const second = await rotate({ graceSeconds: 3600 });
    const third = await rotate({ graceSeconds: 60 });
    expect(await use(old.key)).toContain("401");
    expect([await use(second.key), await use(third.key)]).toEqual(["200", "200"]);
    const fourth = await rotate();
    expect(await use(third.key)).toContain("401 The key was rotated");
    expect(await use(fourth.key)).toBe("200");
  }));

Deno.test("Rotating does not extend the life of a key, unless a new expiry is given", () =>
  withRotation(async ({ rotate }) => {
    expect((await rotate()).expiresAt).toBe(after(100));
    expect((await rotate({ expiresAt: null })).expiresAt).toBe(after(100));
    expect((await rotate({ expiresAt: after(200) })).expiresAt).toBe(after(200));
  }, { expiresAt: after(100) }));

Deno.test("An expired key can be rotated only with a new expiry, and its old secret gets no grace period", () =>
  withRotation(async ({ old, rotate, use, clock, server: { local } }) => {
    clock.now = new Date(after(100));
    const refused = await post(local, ROTATE, { input: { id: old.id } });
    expect(refused.codes).toEqual(["EXPIRED"]);
    expect(refused.messages[0]).toContain(after(100));
    expect(refused.messages[0]).toContain("--expires-in");
    const { key, graceUntil } = await rotate({ expiresAt: after(200), graceSeconds: 60 });
    expect(graceUntil).toBe(null);
    expect(await use(key)).toBe("200");
    expect(await use(old.key)).toContain("401 The key was rotated");
  }, { expiresAt: after(100) }));

Deno.test("A disabled key stays disabled when it is rotated", () =>
  withRotation(async ({ old, rotate, use, server: { local } }) => {
    await post(local, UPDATE, { input: { id: old.id, enabled: false } });
    expect(await use((await rotate()).key)).toContain("401 The key is disabled");
  }));

Deno.test("A negative grace period is refused", () =>
  withRotation(async ({ old, server: { local } }) => {
    const { codes, messages } = await post(local, ROTATE, { input: { id: old.id, graceSeconds: -1 } });
    expect({ codes, messages }).toEqual({ codes: ["USAGE"], messages: ["graceSeconds must not be negative."] });
  }));

Deno.test("A secret in its grace period cannot change, rotate, replace or delete its own key, and can do everything else", () =>
  withRotation(async ({ old, rotate, server: { network, local } }) => {
    const { key } = await rotate({ graceSeconds: 60 });
    const { id, permissions } = old;
    const refused = [
      await post(network, UPDATE, { input: { id, description: "mine" } }, old.key),
      await post(network, "mutation ($id: PrefixedID!) { apiKey { addRole(input: { apiKeyId: $id, role: GUEST }) } }", {
        id,
      }, old.key),
      await post(network, ROTATE, { input: { id } }, old.key),
      await post(network, CREATE, { input: { name: "ci", permissions, overwrite: true } }, old.key),
      await post(network, DELETE, { ids: [id] }, old.key),
    ];
    refused.forEach(expectForbidden);
    const child = createdKey(await post(network, CREATE, { input: { name: "child", permissions } }, old.key));
    expect((await post(network, DELETE, { ids: [child.id] }, old.key)).data).toEqual({ apiKey: { delete: true } });
    expect((await post(local, LIST)).text).toContain('"description":null');
    expect((await post(network, UPDATE, { input: { id, description: "mine" } }, key)).codes).toEqual([]);
  }));

Deno.test("If a key rotates itself several times at once, exactly one rotation succeeds, and its secret works", () =>
  withRotation(async ({ old, use, server: { network } }) => {
    const results = await Promise.all(
      [1, 2, 3].map(() => post(network, ROTATE, { input: { id: old.id, graceSeconds: 60 } }, old.key)),
    );
    const succeeded = results.filter(({ codes }) => codes.length === 0).map(changedKey);
    expect(await Promise.all(succeeded.map(({ key }) => use(key)))).toEqual(["200"]);
    results.filter(({ codes }) => codes.length > 0).forEach(expectForbidden);
  }));

Deno.test("me says until when the secret of the request is valid: the expiry of the key or the end of the grace period", () =>
  withRotation(async ({ old, rotate, server: { network } }) => {
    const validUntil = async (secret: string): Promise<unknown> => (await post(network, ME, {}, secret)).data;
    expect(await validUntil(old.key)).toEqual({ me: { id: old.id, expiresAt: after(100) } });
    const { key } = await rotate({ graceSeconds: 60 });
    expect(await validUntil(old.key)).toEqual({ me: { id: old.id, expiresAt: after(60) } });
    expect(await validUntil(key)).toEqual({ me: { id: old.id, expiresAt: after(100) } });
  }, { expiresAt: after(100) }));

Deno.test("The audit trail records rotations and refused rotations, never a secret", () =>
  withRotation(async ({ old, rotate, server: { network, local } }) => {
    const { key } = await rotate({ graceSeconds: 60 });
    await post(network, ROTATE, { input: { name: "ci" } }, old.key);
    const { data, text } = await post(local, EVENTS);
    expect(data).toMatchObject({
      auditEvents: [{ action: "CREATE" }, {
        action: "ROTATE",
        outcome: "DONE",
        key: { id: old.id, name: "ci" },
        changes: [
          { field: "key", before: `sak_…${old.key.slice(-4)}`, after: `sak_…${key.slice(-4)}` },
          { field: "graceUntil", before: null, after: after(60) },
        ],
      }, { action: "ROTATE", outcome: "FORBIDDEN", key: { id: old.id, name: "ci" }, changes: [] }],
    });
    for (const secret of [old.key, key]) expect(text).not.toContain(secret.slice(4, 12));
  }));
