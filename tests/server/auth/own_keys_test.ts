/** `_OWN` on keys: what a key may do to itself and to the keys it created, and to no others. */
import { expect } from "expect";
import {
  type Answer,
  asInput,
  ask,
  CREATE,
  createdKey,
  DELETE,
  keysIn,
  LIST,
  listedKeys,
  READ,
  readKey,
  type ShownKey,
  type TestServer,
  withServer,
} from "../graphql/graphql.ts";

const BY_NAME = "query ($name: String!) { apiKeysByName(name: $name) { id } }";
const CREATED_BY = "query ($id: PrefixedID!) { apiKey(id: $id) { createdBy } }";
const RIGHTS = ["API_KEY:CREATE_ANY", "API_KEY:READ_OWN", "API_KEY:DELETE_OWN"];

interface Family extends TestServer {
  /** May create keys, and read and delete its own. */
  readonly parent: ShownKey;
  /** Two that it created. */
  readonly children: readonly [ShownKey, ShownKey];
  /** One that it did not. */
  readonly stranger: ShownKey;
  /** Asks with the key of the parent. */
  readonly asParent: (query: string, variables?: Readonly<Record<string, unknown>>) => Promise<Answer>;
}

function withFamily(test: (family: Family) => Promise<void>): Promise<void> {
  return withServer(async (server) => {
    const parent = await server.create({ name: "parent", permissions: asInput(RIGHTS) });
    const asParent: Family["asParent"] = (query, variables) => ask(server.network, query, variables, parent.key);
    const bear = async (name: string): Promise<ShownKey> =>
      createdKey(await asParent(CREATE, { input: { name, permissions: asInput(RIGHTS) } }));
    const [one, two] = [await bear("one"), await bear("two")];
    const stranger = await server.create({ name: "stranger", permissions: asInput(RIGHTS) });
    await test({ ...server, parent, children: [one, two], stranger, asParent });
  });
}

async function idsIn(store: TestServer["store"]): Promise<readonly string[]> {
  return (await keysIn(store)).map(({ id }) => id);
}

Deno.test("createdBy tells which key created a key, and null of one that was made beside the store", () =>
  withFamily(async ({ parent, children: [one], stranger, local }) => {
    const answers = await Promise.all([parent, one, stranger].map(({ id }) => ask(local, CREATED_BY, { id })));
    expect(answers.map(({ data }) => data)).toEqual(
      [null, parent.id, null].map((createdBy) => ({ apiKey: { createdBy } })),
    );
  }));

Deno.test("a key with READ_OWN lists itself and the keys it created, in the order of creation", () =>
  withFamily(async ({ parent, children, asParent }) => {
    expect(listedKeys(await asParent(LIST)).map(({ id }) => id)).toEqual([parent, ...children].map(({ id }) => id));
    expect((await asParent("{ apiKeysExist }")).data).toEqual({ apiKeysExist: true });
  }));

Deno.test("a key with READ_OWN reads itself and the keys it created, by id and by name", () =>
  withFamily(async ({ parent, children, asParent }) => {
    for (const { id, name } of [parent, ...children]) {
      // deno-lint-ignore no-await-in-loop -- three of them
      expect(readKey(await asParent(READ, { id }))?.name).toBe(name);
      // deno-lint-ignore no-await-in-loop -- three of them
      expect((await asParent(BY_NAME, { name })).data).toEqual({ apiKeysByName: [{ id }] });
    }
  }));

Deno.test("a key with READ_OWN is not told of others: FORBIDDEN by id, whether or not they are there; nothing by name", () =>
  withFamily(async ({ stranger, asParent }) => {
    const [there, nowhere] = [await asParent(READ, { id: stranger.id }), await asParent(READ, { id: "key_nowhere" })];
    expect([there.codes, nowhere.codes]).toEqual([["FORBIDDEN"], ["FORBIDDEN"]]);
    expect(there.messages).toEqual(nowhere.messages);
    expect((await asParent(BY_NAME, { name: "stranger" })).data).toEqual({ apiKeysByName: [] });
  }));

Deno.test("what a key created does not reach its creator, nor those beside it, nor those below", () =>
  withFamily(async ({ network, parent, children: [one, two], asParent }) => {
    const below = createdKey(
      await ask(network, CREATE, { input: { name: "below", permissions: asInput(RIGHTS) } }, one.key),
    );
    expect(listedKeys(await ask(network, LIST, {}, one.key)).map(({ id }) => id)).toEqual([one.id, below.id]);
    for (const { id } of [parent, two]) {
      // deno-lint-ignore no-await-in-loop -- two of them
      expect((await ask(network, READ, { id }, one.key)).codes).toEqual(["FORBIDDEN"]);
      // deno-lint-ignore no-await-in-loop -- two of them
      expect((await ask(network, DELETE, { ids: [id] }, one.key)).codes).toEqual(["FORBIDDEN"]);
    }
    expect((await asParent(READ, { id: below.id })).codes).toEqual(["FORBIDDEN"]);
    expect((await asParent(DELETE, { ids: [below.id] })).codes).toEqual(["FORBIDDEN"]);
  }));

Deno.test("a key with DELETE_OWN deletes keys it created, several at once too", () =>
  withFamily(async ({ parent, children: [one, two], stranger, asParent, store }) => {
    expect((await asParent(DELETE, { ids: [one.id, two.id] })).data).toEqual({ apiKey: { delete: true } });
    expect(await idsIn(store)).toEqual([parent.id, stranger.id]);
  }));

Deno.test("a key with DELETE_OWN deletes itself, and is out", () =>
  withFamily(async ({ parent, children, stranger, asParent, store }) => {
    expect((await asParent(DELETE, { ids: [parent.id] })).data).toEqual({ apiKey: { delete: true } });
    expect((await asParent(LIST)).status).toBe(401);
    expect(await idsIn(store)).toEqual([...children, stranger].map(({ id }) => id));
  }));

Deno.test("a key with DELETE_OWN deletes no key of others, and none of its own along with one of others", () =>
  withFamily(async ({ parent, children: [one, two], stranger, asParent, store }) => {
    for (const ids of [[stranger.id], [one.id, stranger.id], [stranger.id, one.id, two.id]]) {
      // deno-lint-ignore no-await-in-loop -- one after the other on one store
      const { codes, messages, data } = await asParent(DELETE, { ids });
      expect({ codes, data }).toEqual({ codes: ["FORBIDDEN"], data: null });
      expect(messages[0]).toContain("API_KEY:DELETE_ANY");
    }
    expect(await idsIn(store)).toEqual([parent, one, two, stranger].map(({ id }) => id));
  }));

Deno.test("of own keys and one that is not there none is deleted, and the answer is false", () =>
  withFamily(async ({ children: [one], asParent, store }) => {
    expect((await asParent(DELETE, { ids: [one.id, "key_nowhere"] })).data).toEqual({ apiKey: { delete: false } });
    expect(await idsIn(store)).toContain(one.id);
  }));

Deno.test("a key with DELETE_OWN replaces keys it created, and is the creator of what takes their place", () =>
  withFamily(async ({ parent, children: [one], asParent, network, local }) => {
    const input = { name: "one", permissions: asInput(["API_KEY:READ_OWN"]), overwrite: true };
    const fresh = createdKey(await asParent(CREATE, { input }));
    expect((await ask(network, LIST, {}, one.key)).status).toBe(401);
    expect((await ask(network, LIST, {}, fresh.key)).status).toBe(200);
    expect((await ask(local, CREATED_BY, { id: fresh.id })).data).toEqual({ apiKey: { createdBy: parent.id } });
  }));

Deno.test("a key with DELETE_OWN replaces itself, and the keys that it created are then the new key's", () =>
  withFamily(async ({ parent, children, asParent, network }) => {
    const input = { name: "parent", permissions: asInput(RIGHTS), overwrite: true };
    const fresh = createdKey(await asParent(CREATE, { input }));
    expect((await asParent(LIST)).status).toBe(401);
    expect(fresh.id).not.toBe(parent.id);
    const listed = listedKeys(await ask(network, LIST, {}, fresh.key)).map(({ id }) => id);
    expect(listed).toEqual([...children.map(({ id }) => id), fresh.id]);
    const deletion = await ask(network, DELETE, { ids: children.map(({ id }) => id) }, fresh.key);
    expect(deletion.data).toEqual({ apiKey: { delete: true } });
  }));

Deno.test("a key with DELETE_OWN replaces no key of others: FORBIDDEN, and the old one stays in force", () =>
  withFamily(async ({ stranger, asParent, network }) => {
    const input = { name: "stranger", permissions: asInput(["API_KEY:READ_OWN"]), overwrite: true };
    const { codes, messages } = await asParent(CREATE, { input });
    expect(codes).toEqual(["FORBIDDEN"]);
    expect(messages[0]).toContain("To replace a key needs API_KEY:DELETE_ANY, since the key is another's");
    expect((await ask(network, LIST, {}, stranger.key)).status).toBe(200);
  }));

Deno.test("without a right to delete a key replaces nothing, not even what it created", () =>
  withServer(async ({ network, create }) => {
    const parent = await create({ name: "parent", permissions: asInput(["API_KEY:CREATE_ANY"]) });
    const input = { name: "child", permissions: asInput(["API_KEY:CREATE_OWN"]), overwrite: true };
    const child = createdKey(await ask(network, CREATE, { input }, parent.key));
    const again = await ask(network, CREATE, { input }, parent.key);
    expect(again.codes).toEqual(["FORBIDDEN"]);
    expect(again.messages[0]).toContain("API_KEY:DELETE_OWN");
    expect((await ask(network, "{ me { id } }", {}, child.key)).data).toEqual({ me: { id: child.id } });
  }));

Deno.test("keys whose creator is gone belong to nobody but themselves", () =>
  withFamily(async ({ network, local, parent, children: [one, two], stranger, asParent }) => {
    await asParent(DELETE, { ids: [parent.id] });
    await ask(local, CREATE, { input: { name: "parent", permissions: asInput(RIGHTS) } });
    const namesake = createdKey(
      await ask(local, CREATE, { input: { name: "parent", permissions: asInput(RIGHTS), overwrite: true } }),
    );
    for (const { key } of [namesake, stranger, two]) {
      // deno-lint-ignore no-await-in-loop -- three of them
      expect((await ask(network, READ, { id: one.id }, key)).codes).toEqual(["FORBIDDEN"]);
      // deno-lint-ignore no-await-in-loop -- three of them
      expect((await ask(network, DELETE, { ids: [one.id] }, key)).codes).toEqual(["FORBIDDEN"]);
    }
    expect(listedKeys(await ask(network, LIST, {}, one.key)).map(({ id }) => id)).toEqual([one.id]);
    expect((await ask(local, CREATED_BY, { id: one.id })).data).toEqual({ apiKey: { createdBy: parent.id } });
  }));

Deno.test("who is the local caller has every right, and owns nothing in particular", () =>
  withFamily(async ({ local, children: [one], stranger }) => {
    expect((await ask(local, DELETE, { ids: [one.id, stranger.id] })).data).toEqual({ apiKey: { delete: true } });
  }));
