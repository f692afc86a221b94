/** The requests that the client sends to the embedded server: as few as possible, with documents known to be valid. */
import { expect } from "expect";
import { parseName } from "../../src/apikey/name.ts";
import { type Client, createClient, DOCUMENTS } from "../../src/client/client.ts";
import type { Endpoint } from "../../src/client/endpoint.ts";
import { parse, specifiedRules, validate } from "graphql";
import { DEFAULT_LIMITS, limitRule } from "../../src/server/graphql/limits.ts";
import { schema } from "../../src/server/graphql/schema.ts";
import { LOCAL_CALLER } from "../../src/server/auth/caller.ts";
import type { KeyStore } from "../../src/store/key_store.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { handlerOver } from "../server/graphql/graphql.ts";

function clientOver(fetch: Endpoint["fetch"]): Client {
  return createClient({
    url: "http://localhost/graphql",
    label: "test",
    keyRemedy: "",
    headers: new Map(),
    timeout: 5000,
    interrupted: new AbortController().signal,
    debug: () => {},
    fetch,
  });
}

/** A client of the embedded server over a store that counts its calls. */
async function withCountedStore(
  use: (client: Client, calls: readonly string[]) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  const store = await openSqliteStore({ directory, busyTimeout: 1000 });
  const calls: string[] = [];
  const counted = new Proxy<KeyStore>(store, {
    get: (target, name: keyof KeyStore) => {
      calls.push(name);
      return target[name].bind(target);
    },
  });
  let requests = 0;
  const handler = handlerOver({
    store: counted,
    anonymous: LOCAL_CALLER,
    now: () => new Date(),
    logError: () => {},
  });
  const client = clientOver((request) => {
    calls.push(`request ${++requests}`);
    return handler(request);
  });
  try {
    await use(client, calls);
  } finally {
    await store.close();
    await Deno.remove(directory, { recursive: true });
  }
}

const NEW_KEY = {
  name: parseName("new"),
  description: undefined,
  roles: ["GUEST"],
  permissions: [],
  overwrite: false,
} as const;

Deno.test("create takes one request and one transaction", async () => {
  await withCountedStore(async (client, calls) => {
    await client.createKey(NEW_KEY);
    expect(calls).toEqual(["request 1", "add"]);
  });
});

Deno.test("delete by name reads no other key", async () => {
  await withCountedStore(async (client, calls) => {
    await client.createKey(NEW_KEY);
    const { matches } = await client.findKeys(NEW_KEY.name);
    expect(await client.deleteKeys(matches)).toBe(true);
    expect(matches).toHaveLength(1);
    expect(calls.slice(2)).toEqual(["request 2", "findByName", "isEmpty", "request 3", "remove"]);
  });
});

Deno.test("of two deletions of one key only one reports success", async () => {
  await withCountedStore(async (client) => {
    await client.createKey(NEW_KEY);
    const { matches } = await client.findKeys(NEW_KEY.name);
    expect(await Promise.all([client.deleteKeys(matches), client.deleteKeys(matches)])).toEqual([true, false]);
  });
});

for (const document of DOCUMENTS) {
  Deno.test(`the client's document is valid: ${document.slice(0, 40)}`, () => {
    const rules = [...specifiedRules, limitRule(DEFAULT_LIMITS)];
    expect(validate(schema, parse(document), rules)).toEqual([]);
  });
}

Deno.test("the client sends only the documents in DOCUMENTS", async () => {
  const sent: string[] = [];
  const client = clientOver(async (request) => {
    sent.push((await request.json()).query);
    return Response.json({ errors: [{ message: "no" }] });
  });
  await Promise.allSettled([
    client.createKey(NEW_KEY),
    client.createKey({ ...NEW_KEY, overwrite: true }),
    client.findKeys(NEW_KEY.name),
    client.listKeys(),
    client.identify(),
    client.deleteKeys([{ id: "key_1", name: "a" }]),
    client.listAuditEvents(undefined, 10),
  ]);
  expect(new Set(sent).difference(new Set(DOCUMENTS))).toEqual(new Set());
  expect(new Set(sent).size).toBe(DOCUMENTS.length);
});
