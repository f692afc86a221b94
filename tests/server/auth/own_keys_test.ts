/** `_OWN` permissions cover the calling key itself and the keys that it created. */
import { expect } from "expect";
import { hashSecret } from "../../../src/apikey/secret.ts";
import {
  type ApiKey,
  CREATE,
  createdKey,
  DELETE,
  keysIn,
  LIST,
  listedIds,
  ME,
  post,
  READ,
  readKey,
  type Result,
  type TestServer,
  toInput,
  withServer,
} from "../graphql/graphql.ts";

const BY_NAME = "query ($name: String!) { apiKeysByName(name: $name) { id } }";
const BY_HASH = "query ($hashes: [String!]!) { apiKeysBySecretHash(hashes: $hashes) { id } }";
const CREATED_BY = "query ($id: PrefixedID!) { apiKey(id: $id) { createdBy } }";
const RIGHTS = ["API_KEY:CREATE_ANY", "API_KEY:READ_OWN", "API_KEY:DELETE_OWN"];

interface Family extends TestServer {
  /** A key that can create keys, and can read and delete itself and the keys that it created. */
  readonly parent: ApiKey;
  /** The two keys that the parent created. */
  readonly children: readonly [ApiKey, ApiKey];
  /** A key that the local caller created. */
  readonly stranger: ApiKey;
  /** Posts a GraphQL operation that `parent` authenticates. */
  readonly asParent: (query: string, variables?: Readonly<Record<string, unknown>>) => Promise<Result>;
  /** Returns the ids of all keys in the store. */
  readonly ids: () => Promise<readonly string[]>;
}

function withFamily(test: (family: Family) => Promise<void>): Promise<void> {
  return withServer(async (server) => {
    const parent = await server.create({ name: "parent", permissions: toInput(RIGHTS) });
    const asParent: Family["asParent"] = (query, variables) => post(server.network, query, variables, parent.key);
    const createChild = async (name: string): Promise<ApiKey> =>
      createdKey(await asParent(CREATE, { input: { name, permissions: toInput(RIGHTS) } }));
    const children = [await createChild("one"), await createChild("two")] as const;
    const stranger = await server.create({ name: "stranger", permissions: toInput(RIGHTS) });
    const ids = async (): Promise<readonly string[]> => (await keysIn(server.store)).map(({ id }) => id);
    await test({ ...server, parent, children, stranger, asParent, ids });
  });
}

Deno.test("createdBy is the id of the creating key, or null if the local caller created the key", () =>
  withFamily(async ({ parent, children: [one], stranger, local }) => {
    const results = await Promise.all([parent, one, stranger].map(({ id }) => post(local, CREATED_BY, { id })));
    expect(results.map(({ data }) => data)).toEqual(
      [null, parent.id, null].map((createdBy) => ({ apiKey: { createdBy } })),
    );
  }));

Deno.test("A key with READ_OWN lists itself and the keys it created, in order of creation", () =>
  withFamily(async ({ parent, children, asParent }) => {
    expect(listedIds(await asParent(LIST))).toEqual([parent, ...children].map(({ id }) => id));
    expect((await asParent("{ apiKeysExist }")).data).toEqual({ apiKeysExist: true });
  }));

Deno.test("A key with READ_OWN reads itself and the keys it created, by id and by name", () =>
  withFamily(async ({ parent, children: [one], asParent }) => {
    for (const { id, name } of [parent, one]) {
      // deno-lint-ignore no-await-in-loop -- only two keys
      expect(readKey(await asParent(READ, { id }))?.name).toBe(name);
      // deno-lint-ignore no-await-in-loop -- only two keys
      expect((await asParent(BY_NAME, { name })).data).toEqual({ apiKeysByName: [{ id }] });
    }
  }));

Deno.test("A key with READ_OWN does not learn which other keys exist, by id or by name", () =>
  withFamily(async ({ stranger, asParent }) => {
    const [existing, missing] = [await asParent(READ, { id: stranger.id }), await asParent(READ, { id: "key_x" })];
    expect([existing.codes, missing.codes]).toEqual([["FORBIDDEN"], ["FORBIDDEN"]]);
    expect(existing.messages).toEqual(missing.messages);
    expect(existing.messages[0]).toContain("API_KEY:READ_ANY");
    expect((await asParent(BY_NAME, { name: "stranger" })).data).toEqual({ apiKeysByName: [] });
  }));

Deno.test("A key with READ_OWN learns by hash which of its own secrets are current, and nothing about other keys", () =>
  withFamily(async ({ parent, children: [one], stranger, asParent }) => {
    const keys = [parent, one, stranger];
    const hashes = await Promise.all(keys.map(async ({ key }) => (await hashSecret(key)).toHex()));
    expect((await asParent(BY_HASH, { hashes })).data).toEqual({
      apiKeysBySecretHash: [{ id: parent.id }, { id: one.id }, null],
    });
  }));

Deno.test("The _OWN permissions of a key do not cover its parent (the creator), its siblings or its grandchildren", () =>
  withFamily(async ({ network, parent, children: [one, two], asParent }) => {
    const input = { name: "grandchild", permissions: toInput(RIGHTS) };
    const grandchild = createdKey(await post(network, CREATE, { input }, one.key));
    expect(listedIds(await post(network, LIST, {}, one.key))).toEqual([one.id, grandchild.id]);
    const results = await Promise.all([
      post(network, READ, { id: parent.id }, one.key),
      post(network, DELETE, { ids: [parent.id] }, one.key),
      post(network, READ, { id: two.id }, one.key),
      post(network, DELETE, { ids: [two.id] }, one.key),
      asParent(READ, { id: grandchild.id }),
      asParent(DELETE, { ids: [grandchild.id] }),
    ]);
    expect(results.map(({ codes }) => codes.join())).toEqual(results.map(() => "FORBIDDEN"));
  }));

Deno.test("With one request, a key with DELETE_OWN deletes several keys that it created", () =>
  withFamily(async ({ parent, children: [one, two], stranger, asParent, ids }) => {
    expect((await asParent(DELETE, { ids: [one.id, two.id] })).data).toEqual({ apiKey: { delete: true } });
    expect(await ids()).toEqual([parent.id, stranger.id]);
  }));

Deno.test("A key with DELETE_OWN deletes itself and then no longer authenticates", () =>
  withFamily(async ({ parent, children, stranger, asParent, ids }) => {
    expect((await asParent(DELETE, { ids: [parent.id] })).data).toEqual({ apiKey: { delete: true } });
    expect((await asParent(LIST)).status).toBe(401);
    expect(await ids()).toEqual([...children, stranger].map(({ id }) => id));
  }));

Deno.test("With DELETE_OWN, a request to delete a key that another caller created is FORBIDDEN and deletes no key", () =>
  withFamily(async ({ children: [one, two], stranger, asParent, ids }) => {
    const before = await ids();
    for (const named of [[stranger.id], [one.id, stranger.id], [stranger.id, one.id, two.id]]) {
      // deno-lint-ignore no-await-in-loop -- one change after the other
      const { codes, messages, data } = await asParent(DELETE, { ids: named });
      expect({ codes, data }).toEqual({ codes: ["FORBIDDEN"], data: null });
      expect(messages[0]).toContain("API_KEY:DELETE_ANY");
    }
    expect(await ids()).toEqual(before);
  }));

Deno.test("With DELETE_OWN, a request to delete a key gets the same answer whether another caller created the key or no key exists", () =>
  withFamily(async ({ children: [one], stranger, asParent, ids }) => {
    const before = await ids();
    for (const others of [[], [one.id]]) {
      // deno-lint-ignore no-await-in-loop -- one change after the other
      const existing = await asParent(DELETE, { ids: [...others, stranger.id] });
      // deno-lint-ignore no-await-in-loop -- one change after the other
      const missing = await asParent(DELETE, { ids: [...others, "key_0123456789ABCDEFGHIJKL"] });
      expect(existing.codes).toEqual(["FORBIDDEN"]);
      expect({ status: missing.status, text: missing.text }).toEqual({ status: existing.status, text: existing.text });
    }
    expect(await ids()).toEqual(before);
  }));

Deno.test("A key with DELETE_OWN replaces a key it created, and becomes the creator of the new key", () =>
  withFamily(async ({ parent, children: [one], asParent, network, local }) => {
    const input = { name: "one", permissions: toInput(["API_KEY:READ_OWN"]), overwrite: true };
    const successor = createdKey(await asParent(CREATE, { input }));
    expect((await post(network, LIST, {}, one.key)).status).toBe(401);
    expect((await post(network, LIST, {}, successor.key)).status).toBe(200);
    expect((await post(local, CREATED_BY, { id: successor.id })).data).toEqual({ apiKey: { createdBy: parent.id } });
  }));

Deno.test("A key with DELETE_OWN replaces itself, and the new key becomes the creator of the keys that the old key created", () =>
  withFamily(async ({ parent, children, asParent, network }) => {
    const input = { name: "parent", permissions: toInput(RIGHTS), overwrite: true };
    const successor = createdKey(await asParent(CREATE, { input }));
    expect((await asParent(LIST)).status).toBe(401);
    expect(successor.id).not.toBe(parent.id);
    const childIds = children.map(({ id }) => id);
    expect(listedIds(await post(network, LIST, {}, successor.key))).toEqual([...childIds, successor.id]);
    const { data } = await post(network, DELETE, { ids: childIds }, successor.key);
    expect(data).toEqual({ apiKey: { delete: true } });
  }));

Deno.test("With DELETE_OWN, replacing a key that another caller created is FORBIDDEN, and that key keeps working", () =>
  withFamily(async ({ stranger, asParent, network }) => {
    const input = { name: "stranger", permissions: toInput(["API_KEY:READ_OWN"]), overwrite: true };
    const { codes, messages } = await asParent(CREATE, { input });
    expect({ codes, messages }).toEqual({
      codes: ["FORBIDDEN"],
      messages: [
        "Replacing a key needs API_KEY:DELETE_ANY. " +
        "API_KEY:DELETE_OWN covers only your own key and the keys that it created.",
      ],
    });
    expect((await post(network, LIST, {}, stranger.key)).status).toBe(200);
  }));

Deno.test("A key without a DELETE permission cannot replace even a key that it created", () =>
  withServer(async ({ network, create }) => {
    const parent = await create({ name: "parent", permissions: toInput(["API_KEY:CREATE_ANY"]) });
    const input = { name: "child", permissions: toInput(["API_KEY:CREATE_OWN"]), overwrite: true };
    const child = createdKey(await post(network, CREATE, { input }, parent.key));
    const { codes, messages } = await post(network, CREATE, { input }, parent.key);
    expect(codes).toEqual(["FORBIDDEN"]);
    expect(messages[0]).toContain("API_KEY:DELETE_OWN");
    expect((await post(network, ME, {}, child.key)).data).toEqual({ me: { name: "child" } });
  }));

Deno.test("After a key's creator is deleted, a new key with the creator's name cannot read or delete the key", () =>
  withFamily(async ({ network, local, parent, children: [one, two], asParent, create }) => {
    await asParent(DELETE, { ids: [parent.id] });
    await create({ name: "parent", permissions: toInput(RIGHTS) });
    const namesake = await create({ name: "parent", permissions: toInput(RIGHTS), overwrite: true });
    const results = await Promise.all([namesake, two].flatMap(({ key }) => [
      post(network, READ, { id: one.id }, key),
      post(network, DELETE, { ids: [one.id] }, key),
    ]));
    expect(results.map(({ codes }) => codes.join())).toEqual(results.map(() => "FORBIDDEN"));
    expect(listedIds(await post(network, LIST, {}, one.key))).toEqual([one.id]);
    expect((await post(local, CREATED_BY, { id: one.id })).data).toEqual({ apiKey: { createdBy: parent.id } });
  }));
