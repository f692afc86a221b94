/** When keys expire, and how a server limits the life of keys. */
import { expect } from "expect";
import {
  after,
  changedKey,
  CREATE,
  type Fetch,
  LIFE_FIELDS,
  post,
  type Result,
  ROTATE,
  type TestServer,
  UPDATE,
  withClock,
} from "../graphql/graphql.ts";

const CREATE_LIVING = CREATE.replace(/\{ id key .*\} \} \}$/s, `${LIFE_FIELDS} } }`);
const ME = "{ me { id } }";

function create(server: Fetch, input: Readonly<Record<string, unknown>>, secret?: string): Promise<Result> {
  return post(server, CREATE_LIVING, { input: { name: "new", roles: ["GUEST"], ...input } }, secret);
}

function expectTooLong({ codes, messages }: Result): void {
  expect(codes).toEqual(["USAGE"]);
  expect(messages[0]).toContain(`Choose an expiry no later than ${after(1000)}.`);
}

Deno.test("A key works until the millisecond before its expiry, and from then on gets 401 with `expired`", () =>
  withClock(async ({ network, create }, clock) => {
    const { id, key } = await create({ name: "ci", roles: ["GUEST"], expiresAt: after(10) });
    clock.now = new Date(after(9.999));
    expect((await post(network, ME, {}, key)).data).toEqual({ me: { id } });
    clock.now = new Date(after(10));
    const { status, codes, messages, headers } = await post(network, ME, {}, key);
    expect({ status, codes }).toEqual({ status: 401, codes: ["UNAUTHENTICATED"] });
    expect(messages[0]).toContain("The key has expired.");
    expect(headers.get("www-authenticate")).toContain('error="invalid_token"');
  }));

Deno.test("An expired key keeps its name, and works again with a later expiry", () =>
  withClock(async ({ network, local, create: createLocally }, clock) => {
    const { id, key } = await createLocally({ name: "new", roles: ["GUEST"], expiresAt: after(10) });
    clock.now = new Date(after(20));
    expect((await create(local, {})).codes).toEqual(["ALREADY_EXISTS"]);
    await post(local, UPDATE, { input: { id, expiresAt: after(30) } });
    expect((await post(network, ME, {}, key)).data).toEqual({ me: { id } });
  }));

Deno.test("Without limits, a new key does not expire, and an expiry must be a future time in RFC 3339", () =>
  withClock(async ({ local }) => {
    for (const expiresAt of [after(0), after(-1), "tomorrow", "2030-02-30T00:00:00Z", "2030-01-01T00:00:00"]) {
      // deno-lint-ignore no-await-in-loop -- one request after the other
      expect((await create(local, { expiresAt })).codes).toEqual(["USAGE"]);
    }
    expect(changedKey(await create(local, {})).expiresAt).toBe(null);
    const exact = await create(local, { name: "exact", expiresAt: "2030-01-01T00:00:00+01:00" });
    expect(changedKey(exact).expiresAt).toBe("2029-12-31T23:00:00.000Z");
  }));

/** Runs a test on a server with a longest life of 1000 s, and with a key that a local user created without an expiry. */
function withLimit(test: (server: TestServer, id: string, admin: string) => Promise<void>): Promise<void> {
  return withClock(async (server) => {
    const { key } = await server.create({ name: "admin", roles: ["ADMIN"] });
    const { id } = await server.create({ name: "old", roles: ["GUEST"] });
    await test(server, id, key);
  }, { lifetimes: { max: 1_000_000 } });
}

Deno.test("The longest life is also the default, and a client cannot create a key that lives longer or forever", () =>
  withLimit(async ({ network }, _id, admin) => {
    expect(changedKey(await create(network, {}, admin)).expiresAt).toBe(after(1000));
    expect(changedKey(await create(network, { name: "short", expiresAt: after(1) }, admin)).expiresAt).toBe(after(1));
    expectTooLong(await create(network, { name: "long", expiresAt: after(1000.001) }, admin));
    expectTooLong(await create(network, { name: "forever", expiresAt: null }, admin));
  }));

Deno.test("With a longest life, a client cannot update or rotate a key so that it lives longer or forever", () =>
  withLimit(async ({ network }, id, admin) => {
    expectTooLong(await post(network, ROTATE, { input: { id } }, admin));
    expectTooLong(await post(network, ROTATE, { input: { id, expiresAt: after(1001) } }, admin));
    expectTooLong(await post(network, UPDATE, { input: { id, expiresAt: after(1001) } }, admin));
    expectTooLong(await post(network, UPDATE, { input: { id, expiresAt: null } }, admin));
    expect((await post(network, UPDATE, { input: { id, description: "still without an expiry" } }, admin)).codes)
      .toEqual([]);
    const input = { id, expiresAt: after(1000) };
    expect(changedKey(await post(network, ROTATE, { input }, admin)).expiresAt).toBe(after(1000));
  }));

Deno.test("The longest life does not apply to the local caller", () =>
  withLimit(async ({ local }, id) => {
    expect(changedKey(await create(local, {})).expiresAt).toBe(null);
    expect((await post(local, ROTATE, { input: { id } })).codes).toEqual([]);
  }));

Deno.test("A default life can be shorter than the longest life, and without a longest life, a key can live forever", async () => {
  await withClock(async ({ network, create: createLocally }) => {
    const { key } = await createLocally({ name: "admin", roles: ["ADMIN"] });
    expect(changedKey(await create(network, {}, key)).expiresAt).toBe(after(10));
    expect(changedKey(await create(network, { name: "long", expiresAt: after(1000) }, key)).expiresAt).toBe(
      after(1000),
    );
  }, { lifetimes: { max: 1_000_000, default: 10_000 } });
  await withClock(async ({ network, create: createLocally }) => {
    const { key } = await createLocally({ name: "admin", roles: ["ADMIN"] });
    expect(changedKey(await create(network, {}, key)).expiresAt).toBe(after(10));
    expect(changedKey(await create(network, { name: "long", expiresAt: null }, key)).expiresAt).toBe(null);
  }, { lifetimes: { default: 10_000 } });
});
