/** Reading keys page by page with `apiKeyConnection`: pages, cursors, orders and filters. */
import { expect } from "expect";
import * as z from "zod";
import type { StoredKey } from "../../../src/store/stored_key.ts";
import { addAll } from "../../store/changes.ts";
import { newKey } from "../../store/stored_key.ts";
import { after, type Fetch, LOCAL_ORIGIN, post, type TestServer, toInput, withClock, withServer } from "./graphql.ts";

const PAGE = `query ($first: Int, $after: String, $filter: ApiKeyFilter, $sort: ApiKeySort) {
  apiKeyConnection(first: $first, after: $after, filter: $filter, sort: $sort) {
    edges { cursor node { name } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`;

const result = z.object({
  apiKeyConnection: z.object({
    edges: z.array(z.object({ cursor: z.string(), node: z.object({ name: z.string() }) })),
    pageInfo: z.object({
      hasNextPage: z.boolean(),
      hasPreviousPage: z.boolean(),
      startCursor: z.string().nullable(),
      endCursor: z.string().nullable(),
    }),
  }),
});

interface Page extends z.infer<typeof result.shape.apiKeyConnection.shape.pageInfo> {
  readonly names: readonly string[];
  readonly cursors: readonly string[];
}

type Variables = Readonly<Record<string, unknown>>;

async function pageOf(server: Fetch, variables: Variables, secret?: string): Promise<Page> {
  const { data, messages } = await post(server, PAGE, variables, secret);
  if (messages.length > 0) throw new Error(messages.join("; "));
  const { edges, pageInfo } = result.parse(data).apiKeyConnection;
  return { ...pageInfo, names: edges.map(({ node }) => node.name), cursors: edges.map(({ cursor }) => cursor) };
}

/** Reads all pages, as a client does. */
async function pagesOf(
  server: Fetch,
  variables: Variables,
  secret?: string,
): Promise<readonly (readonly string[])[]> {
  const pages: (readonly string[])[] = [];
  for (let cursor: string | null = null;;) {
    // deno-lint-ignore no-await-in-loop -- a page begins where the previous one ends
    const page: Page = await pageOf(server, { ...variables, after: cursor }, secret);
    pages.push(page.names);
    expect(page.endCursor).not.toBe(cursor);
    if (!page.hasNextPage) return pages;
    cursor = page.endCursor;
  }
}

/** Adds keys directly to the store. */
async function addKeys(
  { store }: TestServer,
  keys: readonly (readonly [string, Partial<StoredKey>?])[],
): Promise<void> {
  const added = await Promise.all(keys.map(([name, fields]) => newKey(name, fields)));
  await addAll(store, added);
}

function withFive(test: (server: TestServer) => Promise<void>): Promise<void> {
  return withServer(async (server) => {
    await addKeys(server, [["b"], ["d"], ["a"], ["e"], ["c"]]);
    await test(server);
  });
}

Deno.test("Pages hold at most `first` keys in the order of creation, and pageInfo says whether more follow", () =>
  withFive(async ({ local }) => {
    const one = await pageOf(local, { first: 2 });
    expect(one).toEqual({
      names: ["b", "d"],
      cursors: [one.startCursor, one.endCursor],
      hasNextPage: true,
      hasPreviousPage: false,
      startCursor: expect.stringMatching(/^[A-Za-z0-9_=-]+$/),
      endCursor: expect.stringMatching(/^[A-Za-z0-9_=-]+$/),
    });
    const two = await pageOf(local, { first: 3, after: one.endCursor });
    expect(two).toMatchObject({ names: ["a", "e", "c"], hasNextPage: false, hasPreviousPage: true });
    expect(await pageOf(local, { after: two.endCursor })).toEqual({
      names: [],
      cursors: [],
      hasNextPage: false,
      hasPreviousPage: true,
      startCursor: null,
      endCursor: two.endCursor,
    });
    expect((await pageOf(local, { after: one.cursors[0] })).names).toEqual(["d", "a", "e", "c"]);
  }));

Deno.test("Without arguments, a page has at most 100 keys, and null arguments count as not given", () =>
  withServer(async (server) => {
    await addKeys(server, Array.from({ length: 101 }, (_, i) => [`key ${i}`]));
    expect((await pageOf(server.local, {})).names).toHaveLength(100);
    const page = await pageOf(server.local, { first: null, after: null, filter: null, sort: null });
    expect(page.names).toHaveLength(100);
    expect((await pageOf(server.local, { first: 1000 })).names).toHaveLength(101);
  }));

Deno.test("A reader of all pages sees each key that exists throughout once, while keys are added, renamed and deleted", () =>
  withFive(async (server) => {
    const { local, store } = server;
    const one = await pageOf(local, { first: 2 });
    const keys = await Array.fromAsync(store.list());
    await store.remove(
      keys.filter(({ name }) => ["d", "a"].includes(name)).map(({ id }) => id),
      LOCAL_ORIGIN,
      () => {},
    );
    await addKeys(server, [["aa"]]);
    expect((await pageOf(local, { after: one.endCursor })).names).toEqual(["e", "c", "aa"]);
  }));

Deno.test("Keys can be sorted by name, last use and expiry, in pages of any size", () =>
  withServer(async (server) => {
    const at = (seconds: number): Date => new Date(after(seconds));
    await addKeys(server, [
      ["b", { lastUsedAt: at(-10), expiresAt: at(20) }],
      ["Z", { lastUsedAt: null, expiresAt: null }],
      ["\u{1d434}", { lastUsedAt: at(-30), expiresAt: at(10) }],
      ["\uff41", { lastUsedAt: at(-10), expiresAt: at(20) }],
    ]);
    const orders = {
      CREATED: ["b", "Z", "\u{1d434}", "\uff41"],
      NAME: ["Z", "b", "\uff41", "\u{1d434}"],
      USED: ["Z", "\u{1d434}", "b", "\uff41"],
      EXPIRES: ["\u{1d434}", "b", "\uff41", "Z"],
    };
    for (const [sort, names] of Object.entries(orders)) {
      for (const first of [1, 3]) {
        // deno-lint-ignore no-await-in-loop -- few requests
        expect([sort, (await pagesOf(server.local, { sort, first })).flat()]).toEqual([sort, names]);
      }
    }
  }));

Deno.test("With READ_OWN, the pages hold only the calling key and the keys that it created", () =>
  withServer(async (server) => {
    const { network, keyWith } = server;
    const caller = await keyWith("API_KEY:READ_OWN");
    await addKeys(server, [["one", { createdBy: caller.id }], ["stranger"], ["two", { createdBy: caller.id }]]);
    expect(await pagesOf(network, { first: 2, sort: "NAME" }, caller.key)).toEqual([[caller.name, "one"], ["two"]]);
  }));

for (
  const [title, variables] of [
    ["first: 0", { first: 0 }],
    ["first: 1001", { first: 1001 }],
    ["an empty cursor", { after: "" }],
    ["a cursor that is not base64", { after: "%" }],
    ["a cursor that is not JSON", { after: btoa("key_1") }],
    ["a cursor whose number is too long", { after: btoa('["CREATED","1234567890123456789",null]') }],
    ["a cursor with a number instead of a text", { after: btoa('["CREATED",1,null]') }],
    ["a cursor with an unknown value", { after: btoa('["CREATED","1","a"]') }],
    ["a cursor of another order", { after: btoa('["CREATED","1",null]'), sort: "NAME" }],
    ["a cursor with an invalid time", { after: btoa('["USED","1","now"]'), sort: "USED" }],
    ["a cursor with a day that does not exist", {
      after: btoa('["USED","1","2026-02-30T00:00:00.000Z"]'),
      sort: "USED",
    }],
    ["a cursor with the year 0", { after: btoa('["USED","1","0000-01-01T00:00:00.000Z"]'), sort: "USED" }],
    ["a cursor with U+0000", { after: btoa('["NAME","1","\\u0000"]'), sort: "NAME" }],
    ["a cursor without a name", { after: btoa('["NAME","1",null]'), sort: "NAME" }],
    ["an expiry that is not RFC 3339", { filter: { expiresBefore: "tomorrow" } }],
    ["an empty expiry", { filter: { expiresBefore: "" } }],
    ["an empty last use", { filter: { unusedSince: "" } }],
    ["a long pattern", { filter: { match: "*".repeat(256) } }],
  ] as const
) {
  Deno.test(`A page with ${title} is refused with USAGE`, () =>
    withFive(async ({ local }) => {
      const { codes, data } = await post(local, PAGE, variables);
      expect({ codes, data }).toEqual({ codes: ["USAGE"], data: null });
    }));
}

Deno.test("The filter `can` must be one permission", () =>
  withFive(async ({ local }) => {
    for (const can of ["", "DOCKER:READ_ANY,VMS:READ_ANY", "DOCKER", "NOPE:READ_ANY"]) {
      // deno-lint-ignore no-await-in-loop -- few requests
      expect((await post(local, PAGE, { filter: { can } })).codes).toEqual(["INVALID_PERMISSION"]);
    }
    expect((await post(local, PAGE, { filter: { can: "DOCKER:*" } })).messages).toEqual([
      'can must be one permission without wildcards, for example DOCKER:READ_ANY, not "DOCKER:*".',
    ]);
  }));

Deno.test("Each filter selects the keys that it describes, and several filters select the keys that match all of them", () =>
  withClock(async ({ local, create, store }, clock) => {
    await create({ name: "ci one", roles: ["VIEWER"] });
    const used = await create({ name: "ci two", permissions: toInput(["DOCKER:READ_ANY"]), managedBy: "fleet" });
    await create({ name: "CI three", roles: ["GUEST"], expiresAt: after(100) });
    const off = await create({ name: "off", roles: ["GUEST"], expiresAt: after(10) });
    await post(local, "mutation ($id: PrefixedID!) { apiKey { update(input: { id: $id, enabled: false }) { id } } }", {
      id: off.id,
    });
    clock.now = new Date(after(60));
    await post(local, "{ me { id } }", {}, used.key);
    expect((await store.findById(used.id))?.lastUsedAt).toBe(null);
    const cases: readonly (readonly [Variables, readonly string[]])[] = [
      [{}, ["ci one", "ci two", "CI three", "off"]],
      [{ match: "ci *" }, ["ci one", "ci two"]],
      [{ match: "?? t*" }, ["ci two", "CI three"]],
      [{ role: "GUEST" }, ["CI three", "off"]],
      [{ can: "docker:read_own" }, ["ci one", "ci two"]],
      [{ expired: true }, ["off"]],
      [{ expired: false }, ["ci one", "ci two", "CI three"]],
      [{ expiresBefore: after(100.001) }, ["CI three", "off"]],
      [{ unusedSince: after(30) }, ["ci one", "CI three", "off"]],
      [{ disabled: true }, ["off"]],
      [{ disabled: false, role: null }, ["ci one", "ci two", "CI three"]],
      [{ managedBy: "fleet" }, ["ci two"]],
      [{ match: "ci *", role: "VIEWER" }, ["ci one"]],
      [{ match: "ci *", role: "GUEST" }, []],
    ];
    for (const [filter, names] of cases) {
      // deno-lint-ignore no-await-in-loop -- few requests
      expect([filter, (await pagesOf(local, { filter, first: 1 })).flat()]).toEqual([filter, names]);
    }
  }));

Deno.test("With a filter that matches few keys, a page can end early, and the pages together hold every match", () =>
  withServer(async (server) => {
    const names = Array.from({ length: 11_500 }, (_, i) => i % 5000 === 4999 ? `match ${i}` : `key ${i}`);
    const template = await newKey("key");
    await Promise.all(names.map((name, i) => {
      const secretHash = new Uint8Array(32);
      new DataView(secretHash.buffer).setUint32(0, i);
      return server.store.add(
        { ...template, id: `key_${i}`, name: name as typeof template.name, secretHash },
        LOCAL_ORIGIN,
        () => {},
      );
    }));
    expect(await pagesOf(server.local, { filter: { match: "match *" } })).toEqual([["match 4999", "match 9999"], []]);
    expect(await pagesOf(server.local, { filter: { match: "match *" }, first: 1 })).toEqual([["match 4999"], [
      "match 9999",
    ]]);
    // Each field of a request reads at least 1000 keys.
    const aliases = Array.from(
      { length: 12 },
      (_, i) =>
        `a${i}: apiKeyConnection(filter: { match: "match *" }) { edges { node { name } } pageInfo { hasNextPage } }`,
    );
    const { data } = await post(server.local, `{ ${aliases.join(" ")} }`);
    const pages = z.record(z.string(), z.object({ edges: z.array(z.unknown()) })).parse(data);
    expect(Object.values(pages).map(({ edges }) => edges.length)).toEqual([2, ...Array(11).fill(0)]);
  }));
