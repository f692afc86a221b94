/** The requests that the client sends to the embedded server. They are as few as possible, and their documents are valid. */
import { expect } from "expect";
import { parseName } from "../../src/apikey/name.ts";
import { type Client, DOCUMENTS } from "../../src/client/client.ts";
import { parse, specifiedRules, validate } from "graphql";
import { DEFAULT_LIMITS, limitRule } from "../../src/server/graphql/limits.ts";
import { schema } from "../../src/server/graphql/schema.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { handlerOver } from "../server/graphql/graphql.ts";
import { recordCalls } from "../server/replaced_store.ts";
import { PLAIN_KEY } from "./api_key.ts";
import { clientOver } from "./client_over.ts";

/**
 * Runs `use` with a client of the embedded server. `calls` lists each request of the client and each call to the store,
 * in order.
 */
async function withRecordedCalls(
  use: (client: Client, calls: readonly string[]) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  const store = await openSqliteStore({ directory, busyTimeout: 1000 });
  const calls: string[] = [];
  let requests = 0;
  const handler = handlerOver({
    store: recordCalls(store, calls),
    acceptsLocalCaller: true,
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

Deno.test("create sends one request, and the server changes the store in one call", async () => {
  await withRecordedCalls(async (client, calls) => {
    await client.createKey(NEW_KEY);
    expect(calls).toEqual(["request 1", "listResources", "add"]);
  });
});

Deno.test("create --overwrite sends one request, and the server replaces the key in one call", async () => {
  await withRecordedCalls(async (client, calls) => {
    const { id } = await client.createKey(NEW_KEY);
    expect((await client.createKey({ ...NEW_KEY, overwrite: true })).id).not.toBe(id);
    expect(calls.slice(3)).toEqual(["request 2", "listResources", "add"]);
    expect(await client.listKeys()).toHaveLength(1);
  });
});

Deno.test("delete by name does not read other keys", async () => {
  await withRecordedCalls(async (client, calls) => {
    await client.createKey(NEW_KEY);
    const matches = await client.findKeys(NEW_KEY.name);
    expect(await client.deleteKeys(matches)).toBe(true);
    expect(matches).toHaveLength(1);
    expect(calls.slice(3)).toEqual([
      "request 2",
      "listResources",
      "findByName",
      "request 3",
      "listResources",
      "remove",
    ]);
  });
});

Deno.test("only one of two concurrent deletions of the same key reports success", async () => {
  await withRecordedCalls(async (client) => {
    await client.createKey(NEW_KEY);
    const matches = await client.findKeys(NEW_KEY.name);
    expect(await Promise.all([client.deleteKeys(matches), client.deleteKeys(matches)])).toEqual([true, false]);
  });
});

for (const document of DOCUMENTS) {
  Deno.test(`the schema of the embedded server accepts the document ${document.slice(0, 40)}`, () => {
    const rules = [...specifiedRules, limitRule(DEFAULT_LIMITS)];
    expect(validate(schema, parse(document), rules)).toEqual([]);
  });
}

Deno.test("the operations of the client send exactly the documents in DOCUMENTS", async () => {
  const sent: string[] = [];
  const client = clientOver(async (request) => {
    sent.push((await request.json()).query);
    return Response.json({ errors: [{ message: "no" }] });
  });
  // If the schema of a server lacks a field, reading keys sends other documents.
  const reader = clientOver(async (request) => {
    sent.push((await request.json()).query);
    return Response.json({ errors: [{ message: "no", extensions: { code: "FORBIDDEN" } }] });
  });
  await Promise.allSettled([
    client.createKey(NEW_KEY),
    client.createKey({ ...NEW_KEY, overwrite: true }),
    client.findKeys(NEW_KEY.name),
    client.listKeys(),
    client.identify(),
    reader.verifyKey(),
    reader.updateKey(PLAIN_KEY, { name: "b" }),
    reader.rotateKey({ selector: { name: NEW_KEY.name }, grace: 0, expiresAt: undefined, now: new Date() }),
    client.deleteKeys([{ id: "key_1", name: "a" }]),
    client.effectivePermissions(NEW_KEY),
    client.roleDescriptions(),
    client.listEnumNames(),
    client.serverFields(),
    reader.listAuditEvents(undefined, 10),
    reader.listAuditEvents(undefined, 10, { since: new Date(0), key: "a" }),
    Array.fromAsync(reader.readKeys()),
    reader.findKey({ name: NEW_KEY.name }),
    reader.findKey({ id: "key_1" }),
    reader.matchSecrets([{ name: NEW_KEY.name, secret: "sak_1" }]),
    reader.matchSecrets([{ name: NEW_KEY.name, secret: undefined }]),
    reader.matchSecrets([NEW_KEY, PLAIN_KEY].map(() => ({ name: NEW_KEY.name, secret: undefined }))),
  ]);
  expect(new Set(sent).difference(new Set(DOCUMENTS))).toEqual(new Set());
  expect(new Set(sent).size).toBe(DOCUMENTS.length);
});
