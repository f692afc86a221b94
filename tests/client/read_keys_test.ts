/** Reading all keys and finding one, on servers with different schemas. */
import { expect } from "expect";
import { buildSchema, graphql } from "graphql";
import type { KeyFilter } from "../../src/apikey/key_filter.ts";
import { parseName } from "../../src/apikey/name.ts";
import { type ApiKey, type Client } from "../../src/client/client.ts";
import { contractSdl } from "../contract.ts";
import { clientOver } from "./client_over.ts";

/** What a server without any extension reports about a key. */
const PLAIN = {
  id: "a1",
  name: "ci",
  key: "secret",
  description: "of CI",
  roles: ["AUDITOR"],
  permissions: [{ resource: "BACKUPS", actions: ["READ_ANY", "PURGE"] }, { resource: "DOCKER", actions: ["PURGE"] }],
  createdAt: "2026-01-02T03:04:05Z",
};

const NOT_REPORTED = {
  enabled: null,
  createdBy: null,
  managedBy: null,
  updatedAt: null,
  lastUsedAt: null,
  expiresAt: null,
  graceUntil: null,
  revision: null,
};

const SHOWN = {
  id: "a1",
  name: "ci",
  description: "of CI",
  roles: ["AUDITOR"],
  permissions: ["BACKUPS:READ_ANY", "BACKUPS:PURGE", "DOCKER:PURGE"],
  createdAt: "2026-01-02T03:04:05Z",
  ...NOT_REPORTED,
};

const CONTRACT = contractSdl({
  roles: ["ADMIN", "AUDITOR"],
  resources: ["DOCKER", "BACKUPS"],
  actions: ["READ_ANY", "PURGE"],
});

interface Schema {
  readonly sdl?: string;
  readonly root: Readonly<Record<string, unknown>>;
  readonly answersIntrospection?: boolean;
}

/** A client of a server with a schema, and the documents that the server has received. */
function clientFor({ sdl = CONTRACT, root, answersIntrospection = true }: Schema): [Client, string[]] {
  const schema = buildSchema(sdl);
  const sent: string[] = [];
  const client = clientOver(async (request) => {
    const { query, variables } = await request.json();
    sent.push(query);
    if (query.includes("__type") && !answersIntrospection) {
      return Response.json({ errors: [{ message: "GraphQL introspection is not allowed" }] }, { status: 400 });
    }
    return Response.json(await graphql({ schema, source: query, variableValues: variables, rootValue: root }));
  });
  return [client, sent];
}

async function readAll(client: Client): Promise<readonly ApiKey[]> {
  return (await Array.fromAsync(client.readKeys())).flat();
}

Deno.test("on a server with the published schema, reading keys takes three requests and reports null for what is missing", async () => {
  const [client, sent] = clientFor({ root: { apiKeys: [PLAIN] } });
  expect(await readAll(client)).toEqual([SHOWN]);
  expect(sent).toHaveLength(3);
  expect(sent.join()).not.toMatch(/\bkey\b/);
});

Deno.test("on a server that does not answer introspection, reading keys uses the published schema", async () => {
  const [client] = clientFor({ root: { apiKeys: [PLAIN] }, answersIntrospection: false });
  expect(await readAll(client)).toEqual([SHOWN]);
});

Deno.test("on a server whose keys have only an id and a name, keys have null for roles and permissions", async () => {
  const sdl = "type ApiKey { id: ID! name: String! } type Query { apiKeys: [ApiKey!]! }";
  const only = { id: "a1", name: "ci", description: null, roles: null, permissions: null, createdAt: null };
  for (const answersIntrospection of [true, false]) {
    const [client] = clientFor({ sdl, root: { apiKeys: [PLAIN] }, answersIntrospection });
    // deno-lint-ignore no-await-in-loop -- one server after the other
    expect(await readAll(client)).toEqual([{ ...only, ...NOT_REPORTED }]);
  }
});

Deno.test("reading keys selects the fields that another server has beyond the published schema", async () => {
  const sdl = `${CONTRACT} extend type ApiKey { lastUsedAt: String expiresAt: String }`;
  const [client] = clientFor({ sdl, root: { apiKeys: [{ ...PLAIN, lastUsedAt: "2026-02-01T00:00:00Z" }] } });
  expect(await readAll(client)).toEqual([{ ...SHOWN, lastUsedAt: "2026-02-01T00:00:00Z" }]);
});

Deno.test("a field that the caller needs and the server lacks is UNSUPPORTED, and the message names it", async () => {
  const [client] = clientFor({ root: { apiKeys: [PLAIN] } });
  await expect(Array.fromAsync(client.readKeys({ needs: ["createdAt", "expiresAt"] }))).rejects.toMatchObject({
    code: "UNSUPPORTED",
    message: expect.stringContaining("its schema lacks ApiKey.expiresAt"),
  });
});

const PAGES = `${CONTRACT}
type ApiKeyEdge { node: ApiKey! }
type PageInfo { hasNextPage: Boolean! endCursor: String }
type ApiKeyConnection { edges: [ApiKeyEdge!]! pageInfo: PageInfo! }
extend type Query { apiKeyConnection(first: Int, after: String): ApiKeyConnection! }`;

interface PageArguments {
  readonly first: number;
  readonly after?: string;
}

Deno.test("reading keys requests a page only when the previous one was used, and stops at the last one", async () => {
  const asked: PageArguments[] = [];
  const apiKeyConnection = ({ first, after = "0" }: PageArguments): unknown => {
    asked.push({ first, after });
    const isLast = after === "2";
    // A page can be empty and still have a next page.
    const edges = after === "1" ? [] : [{ node: { ...PLAIN, id: `a${after}` } }];
    return { edges, pageInfo: { hasNextPage: !isLast, endCursor: `${Number(after) + 1}` } };
  };
  const [client] = clientFor({ sdl: PAGES, root: { apiKeyConnection } });
  const pages: [readonly string[], number][] = [];
  for await (const page of client.readKeys()) pages.push([page.map(({ id }) => id), asked.length]);
  expect(pages).toEqual([[["a0"], 1], [[], 2], [["a2"], 3]]);
  expect(asked.map(({ first }) => first)).toEqual([20, 1000, 1000]);
});

for (const endCursor of [null, "1"]) {
  Deno.test(`a server that repeats the cursor ${endCursor} is reported instead of read forever`, async () => {
    const apiKeyConnection = { edges: [], pageInfo: { hasNextPage: true, endCursor } };
    const [client] = clientFor({ sdl: PAGES, root: { apiKeyConnection } });
    await expect(readAll(client)).rejects.toMatchObject({ code: "BAD_RESPONSE" });
  });
}

Deno.test("a key is found by its name in NFC and by its id, even if the server has no query for one key", async () => {
  const key = { ...PLAIN, name: "e\u0301cole" };
  const apiKey = ({ id }: { id: string }): unknown => id === "a1" ? key : null;
  const [client] = clientFor({ root: { apiKeys: [key], apiKey } });
  const [simple] = clientFor({ sdl: CONTRACT.replace(/apiKey\(.*?ApiKey/, ""), root: { apiKeys: [key] } });
  for (const each of [client, simple]) {
    // deno-lint-ignore no-await-in-loop -- one server after the other
    expect(await each.findKey({ name: parseName("école") })).toEqual({ ...SHOWN, name: key.name });
    // deno-lint-ignore no-await-in-loop -- one server after the other
    expect(await each.findKey({ id: "a1" })).toEqual({ ...SHOWN, name: key.name });
  }
  await expect(client.findKey({ id: "a2" })).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: expect.stringContaining("No API key found with id: a2."),
  });
});

Deno.test("if no key has the name, the message names the nearest one, if one is near", async () => {
  const apiKeys = [{ ...PLAIN, name: "nightly backup" }, { ...PLAIN, name: "ci deploy" }];
  const [client] = clientFor({ root: { apiKeys } });
  await expect(client.findKey({ name: parseName("ci deplyo") })).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: 'No API key found with name: ci deplyo. Did you mean "ci deploy"?',
  });
  await expect(client.findKey({ name: parseName("nosuch") })).rejects.toMatchObject({
    message: "No API key found with name: nosuch. To see the names, run service-api apikey list.",
  });
  const [empty] = clientFor({ root: { apiKeys: [] } });
  await expect(empty.findKey({ name: parseName("ci") })).rejects.toMatchObject({
    message: "No API key found with name: ci.",
  });
});

Deno.test("if several keys have the name, the message gives their ids", async () => {
  const [client] = clientFor({ root: { apiKeys: [PLAIN, { ...PLAIN, id: "a2" }] } });
  await expect(client.findKey({ name: parseName("ci") })).rejects.toMatchObject({
    code: "FAILED",
    message: expect.stringMatching(/"a1" or "a2"/),
  });
});

Deno.test("reading and finding keys fail with FORBIDDEN if the server says so", async () => {
  const [client] = clientFor({
    root: {
      apiKeys: () => {
        throw Object.assign(new Error("no"), { extensions: { code: "FORBIDDEN" } });
      },
    },
  });
  await expect(readAll(client)).rejects.toMatchObject({ code: "FORBIDDEN" });
  await expect(client.findKey({ name: parseName("ci") })).rejects.toMatchObject({ code: "FORBIDDEN" });
});

const GRANTS: Readonly<Record<string, readonly unknown[]>> = {
  ADMIN: [{ resource: "DOCKER", actions: ["READ_ANY", "PURGE"] }],
  AUDITOR: [{ resource: "BACKUPS", actions: ["READ_ANY"] }],
};

const KEYS = [
  { ...PLAIN, id: "a1", permissions: [] },
  { ...PLAIN, id: "a2", roles: ["ADMIN"], permissions: [] },
  { ...PLAIN, id: "a3", roles: [], permissions: [{ resource: "DOCKER", actions: ["READ_ANY"] }] },
  { ...PLAIN, id: "a4", roles: ["AUDITOR"], permissions: [] },
];

Deno.test("a filter by right uses what another server says about its roles, and asks once for each role", async () => {
  const sdl = `${CONTRACT} extend type Query { getPermissionsForRoles(roles: [Role!]!): [Permission!]! }`;
  const asked: string[] = [];
  const getPermissionsForRoles = ({ roles: [role = ""] }: { readonly roles: readonly string[] }): unknown => {
    asked.push(role);
    return GRANTS[role];
  };
  const [client] = clientFor({ sdl, root: { apiKeys: KEYS, getPermissionsForRoles } });
  const pages = await Array.fromAsync(client.readKeys({ filter: { can: "DOCKER:READ_ANY" } }));
  expect(pages.flat().map(({ id }) => id)).toEqual(["a2", "a3"]);
  expect(asked).toEqual(["AUDITOR", "ADMIN"]);
});

Deno.test("a filter by right is UNSUPPORTED if a key has a role and the server does not report what it grants", async () => {
  const [client] = clientFor({ root: { apiKeys: KEYS } });
  const read = (filter: KeyFilter): Promise<unknown> => Array.fromAsync(client.readKeys({ filter }));
  await expect(read({ can: "DOCKER:READ_ANY" })).rejects.toMatchObject({
    code: "UNSUPPORTED",
    message: expect.stringContaining("lacks Query.getPermissionsForRoles"),
  });
  expect(await read({ can: "DOCKER:READ_ANY", match: "other" })).toEqual([[]]);
});

Deno.test("on another server, a time that is not a time matches no filter", async () => {
  const sdl = `${CONTRACT} extend type ApiKey { expiresAt: String lastUsedAt: String }`;
  const apiKeys = [
    { ...PLAIN, id: "a1", expiresAt: "soon", lastUsedAt: "yesterday" },
    { ...PLAIN, id: "a2", expiresAt: "2026-01-01T00:00:00Z", lastUsedAt: null, createdAt: "long ago" },
    { ...PLAIN, id: "a3", expiresAt: null, lastUsedAt: "2026-01-01T00:00:00Z" },
  ];
  const [client] = clientFor({ sdl, root: { apiKeys } });
  const now = new Date("2026-03-01T00:00:00Z");
  const idsOf = async (filter: KeyFilter): Promise<readonly string[]> =>
    (await Array.fromAsync(client.readKeys({ filter, now }))).flat().map(({ id }) => id);
  expect(await idsOf({ expired: true })).toEqual(["a2"]);
  expect(await idsOf({ unusedSince: now })).toEqual(["a3"]);
});
