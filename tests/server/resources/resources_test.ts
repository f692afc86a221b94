/** Custom resources over GraphQL: which names the server accepts, and what their resources change. */
import { expect } from "expect";
import { getIntrospectionQuery } from "graphql";
import { DatabaseSync } from "node:sqlite";
import * as z from "zod";
import { inTemporaryDirectory, withStoreIn } from "../../store/temporary_store.ts";
import {
  ADD_RESOURCE,
  CREATE,
  createdKey,
  LOCAL_ORIGIN,
  post,
  REMOVE_RESOURCE,
  serverOver,
  type TestServer,
  toInput,
  UPDATE,
  withServer,
} from "../graphql/graphql.ts";

const RESOURCES = "{ resources { name description } }";
const ENUM = '{ __type(name: "Resource") { enumValues { name description } } }';
const RIGHTS = "{ me { rights { resource actions } } }";
const OWN = ["CREATE_OWN", "READ_OWN", "UPDATE_OWN", "DELETE_OWN"];
const EVERY_ACTION = ["CREATE_ANY", "READ_ANY", "UPDATE_ANY", "DELETE_ANY"].flatMap((any, i) => [any, OWN[i]]);

const rightsResult = z.object({
  me: z.object({ rights: z.array(z.object({ resource: z.string(), actions: z.array(z.string()) })) }),
});

async function add({ local }: TestServer, name: string, description?: string): Promise<void> {
  expect((await post(local, ADD_RESOURCE, { input: { name, description } })).messages).toEqual([]);
}

/** Returns what a key may do with a resource. */
async function rightsOn(resource: string, key: string, { network }: TestServer): Promise<unknown> {
  const { me: { rights } } = rightsResult.parse((await post(network, RIGHTS, {}, key)).data);
  return rights.find((group) => group.resource === resource);
}

for (
  const name of [
    "",
    "orders",
    "Orders",
    "1ORDERS",
    "_ORDERS",
    "ORDERS_",
    "ORDER__ITEMS",
    "ORDER ITEMS",
    "ORDER-ITEMS",
    "ORDERS:READ_ANY",
    "ÄRGER",
    "ORDERS\n",
    "*",
    "A".repeat(65),
  ]
) {
  Deno.test(`${JSON.stringify(name.slice(0, 20))} is refused as the name of a resource`, () =>
    withServer(async ({ local, store }) => {
      const { codes, messages } = await post(local, ADD_RESOURCE, { input: { name } });
      expect(codes).toEqual(["USAGE"]);
      expect(messages[0]).toContain("cannot be the name of a resource");
      expect((await store.listResources()).revision).toBe(0);
    }));
}

Deno.test("A resource of the specification cannot be added or removed", () =>
  withServer(async ({ local }) => {
    const added = await post(local, ADD_RESOURCE, { input: { name: "DOCKER" } });
    expect([added.codes, added.messages]).toEqual([["ALREADY_EXISTS"], [expect.stringContaining("built in")]]);
    const removed = await post(local, REMOVE_RESOURCE, { name: "DOCKER" });
    expect([removed.codes, removed.messages]).toEqual([["NOT_FOUND"], [expect.stringContaining("built in")]]);
  }));

Deno.test("Removing a text that cannot be a name finds no resource", () =>
  withServer(async ({ local }) => {
    for (const name of ["", "\0", "\ud800", "orders", "x".repeat(100_000)]) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      expect((await post(local, REMOVE_RESOURCE, { name })).codes).toEqual(["NOT_FOUND"]);
    }
  }));

Deno.test("A name of 64 characters and a description of 1,024 are accepted; a longer description is refused", () =>
  withServer(async (server) => {
    const [name, description] = ["A".repeat(64), "é".repeat(1024)];
    await add(server, name, description);
    expect((await post(server.local, RESOURCES)).data).toEqual({ resources: [{ name, description }] });
    const input = { name: "LONG", description: `${description}.` };
    expect((await post(server.local, ADD_RESOURCE, { input })).codes).toEqual(["USAGE"]);
  }));

Deno.test("From the next request on, the enum has a resource with its description, or no longer has it", () =>
  withServer(async (server) => {
    const { local } = server;
    const description = 'line 1\nline 2 "quoted" \\ """ # { } \u2028 é 🎉';
    await add(server, "ORDERS", description);
    await add(server, "PLAIN");
    const { text, data } = await post(local, ENUM);
    expect(data).toMatchObject({
      __type: {
        enumValues: expect.arrayContaining([{ name: "ORDERS", description }, { name: "PLAIN", description: null }]),
      },
    });
    expect(text.match(/"name"/g)).toHaveLength(29 + 2);
    await post(local, REMOVE_RESOURCE, { name: "ORDERS" });
    await post(local, REMOVE_RESOURCE, { name: "PLAIN" });
    expect((await post(local, ENUM)).text.match(/"name"/g)).toHaveLength(29);
  }));

Deno.test("The same document is invalid before its resource is added, valid afterwards, and invalid after its removal", () =>
  withServer(async (server) => {
    const { key } = await server.create({ name: "admin", roles: ["ADMIN"] });
    const document =
      "{ previewEffectivePermissions(permissions: [{ resource: ORDERS, actions: [READ_ANY] }]) { resource } }";
    const ask = async (): Promise<unknown> => {
      const { codes, data } = await post(server.network, document, {}, key);
      return codes[0] ?? data;
    };
    const preview = { previewEffectivePermissions: [{ resource: "ORDERS" }] };
    expect([await ask(), await ask()]).toEqual(["USAGE", "USAGE"]);
    await add(server, "ORDERS");
    expect([await ask(), await ask()]).toEqual([preview, preview]);
    await add(server, "OTHER");
    expect(await ask()).toEqual(preview);
    await post(server.local, REMOVE_RESOURCE, { name: "ORDERS" });
    expect([await ask(), await ask()]).toEqual(["USAGE", "USAGE"]);
  }));

Deno.test("ADMIN and VIEWER cover a resource from the next request on, CONNECT and GUEST do not", () =>
  withServer(async (server) => {
    const roles = ["ADMIN", "VIEWER", "CONNECT", "GUEST"];
    const keys = await Promise.all(roles.map((role) => server.create({ name: role, roles: [role] })));
    const rights = (): Promise<readonly unknown[]> =>
      Promise.all(keys.map(({ key }) => rightsOn("CONNECT_ORDERS", key, server)));
    expect(await rights()).toEqual(Array(4).fill(undefined));
    await add(server, "CONNECT_ORDERS");
    expect(await rights()).toEqual([
      { resource: "CONNECT_ORDERS", actions: EVERY_ACTION },
      { resource: "CONNECT_ORDERS", actions: ["READ_ANY", "READ_OWN"] },
      undefined,
      undefined,
    ]);
    await post(server.local, REMOVE_RESOURCE, { name: "CONNECT_ORDERS" });
    expect(await rights()).toEqual(Array(4).fill(undefined));
  }));

Deno.test("The queries about rights know custom resources", () =>
  withServer(async (server) => {
    await add(server, "ORDERS");
    const { data } = await post(
      server.local,
      `{ apiKeyPossiblePermissions { resource actions }
         getPermissionsForRoles(roles: [VIEWER]) { resource actions }
         previewEffectivePermissions(permissions: [{ resource: ORDERS, actions: [UPDATE_ANY] }]) { resource actions } }`,
    );
    expect(data).toMatchObject({
      apiKeyPossiblePermissions: expect.arrayContaining([{ resource: "ORDERS", actions: EVERY_ACTION }]),
      getPermissionsForRoles: expect.arrayContaining([{ resource: "ORDERS", actions: ["READ_ANY", "READ_OWN"] }]),
      previewEffectivePermissions: [{ resource: "ORDERS", actions: ["UPDATE_ANY", "UPDATE_OWN"] }],
    });
  }));

Deno.test("A caller cannot grant a permission on a resource that it does not have", () =>
  withServer(async (server) => {
    await add(server, "ORDERS");
    const caller = await server.keyWith("API_KEY:CREATE_ANY", "API_KEY:UPDATE_ANY", "ORDERS:READ_ANY");
    const create = (name: string, permission: string): ReturnType<typeof post> =>
      post(server.network, CREATE, { input: { name, permissions: toInput([permission]) } }, caller.key);
    const refused = await create("new", "ORDERS:UPDATE_OWN");
    expect([refused.codes, refused.messages]).toEqual([["FORBIDDEN"], [expect.stringContaining("ORDERS:UPDATE_OWN")]]);
    const { id } = createdKey(await create("new", "ORDERS:READ_OWN"));
    for (const change of [{ permissions: toInput(["ORDERS:DELETE_ANY"]) }, { roles: ["VIEWER"] }]) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      const { codes } = await post(server.network, UPDATE, { input: { id, ...change } }, caller.key);
      expect(codes).toEqual(["FORBIDDEN"]);
    }
  }));

Deno.test("A key that had READ_ANY on every resource cannot grant VIEWER after a resource was added", () =>
  withServer(async (server) => {
    const { data } = await post(server.local, "{ getPermissionsForRoles(roles: [VIEWER]) { resource actions } }");
    const { getPermissionsForRoles: permissions } = z.object({ getPermissionsForRoles: z.array(z.unknown()) }).parse(
      data,
    );
    const all = [...permissions, { resource: "API_KEY", actions: ["CREATE_ANY"] }];
    const { key } = await server.create({ name: "reader", permissions: all });
    const create = async (name: string): Promise<readonly unknown[]> =>
      (await post(server.network, CREATE, { input: { name, roles: ["VIEWER"] } }, key)).codes;
    expect(await create("one")).toEqual([]);
    await add(server, "ORDERS");
    expect(await create("two")).toEqual(["FORBIDDEN"]);
  }));

Deno.test("A stored permission on an unknown resource is printed, and grants nothing", () =>
  inTemporaryDirectory((directory) =>
    withStoreIn(directory, async (store) => {
      const server = serverOver(store);
      const { id, key } = await server.keyWith("DOCKER:READ_ANY");
      using database = new DatabaseSync(`${directory}/keys.db`);
      database.exec("UPDATE api_key SET permissions = 'GONE:READ_ANY', revision = revision + 1");
      const read = async (): Promise<unknown> =>
        (await post(server.local, `{ apiKey(id: "${id}") { permissions { resource actions } } }`)).data;
      const printed = { apiKey: { permissions: [{ resource: "GONE", actions: ["READ_ANY"] }] } };
      expect([await read(), await rightsOn("GONE", key, server)]).toEqual([printed, undefined]);
      await add(server, "OTHER");
      expect([await read(), await rightsOn("GONE", key, server)]).toEqual([printed, undefined]);
    })
  ));

Deno.test("With 1,000 resources, the whole schema can be read, and the last one can be used", () =>
  withServer(async (server) => {
    const names = Array.from({ length: 1000 }, (_, i) => `RESOURCE_${i}`);
    await Promise.all(
      names.map((name) => server.store.addResource({ name, description: "x" }, LOCAL_ORIGIN, () => {})),
    );
    const { key } = await server.create({ name: "admin", roles: ["ADMIN"] });
    const { text, codes } = await post(server.network, getIntrospectionQuery(), {}, key);
    expect(codes).toEqual([]);
    expect(names.filter((name) => !text.includes(`"${name}"`))).toEqual([]);
    const { permissions } = await server.keyWith("RESOURCE_999:READ_ANY");
    expect(permissions).toEqual([{ resource: "RESOURCE_999", actions: ["READ_ANY"] }]);
    expect((await post(server.local, ADD_RESOURCE, { input: { name: "MORE" } })).codes).toEqual(["FAILED"]);
  }));

Deno.test("The filter can of apiKeyConnection knows custom resources", () =>
  withServer(async (server) => {
    const query = '{ apiKeyConnection(filter: { can: "ORDERS:READ_OWN" }) { edges { node { name } } } }';
    expect((await post(server.local, query)).codes).toEqual(["INVALID_PERMISSION"]);
    await add(server, "ORDERS");
    await server.create({ name: "buyer", permissions: toInput(["ORDERS:READ_ANY"]) });
    await server.create({ name: "viewer", roles: ["VIEWER"] });
    await server.create({ name: "guest", roles: ["GUEST"] });
    expect((await post(server.local, query)).data).toEqual({
      apiKeyConnection: { edges: [{ node: { name: "buyer" } }, { node: { name: "viewer" } }] },
    });
  }));

Deno.test("A key that lacks the permission adds and removes nothing, and the audit trail records that it was refused, with the name of the resource", () =>
  withServer(async (server) => {
    await add(server, "ORDERS");
    const { key } = await server.create({ name: "viewer", roles: ["VIEWER"] });
    const added = await post(server.network, ADD_RESOURCE, { input: { name: "NEW" } }, key);
    const removed = await post(server.network, REMOVE_RESOURCE, { name: "ORDERS" }, key);
    expect([added.codes, removed.codes]).toEqual([["FORBIDDEN"], ["FORBIDDEN"]]);
    expect(await server.store.listResources()).toMatchObject({ revision: 1 });
    const { data } = await post(
      server.local,
      "{ auditEvents { action outcome key { id name } changes { field before after } } }",
    );
    const noKey = { id: null, name: null };
    const named = (before: string | null, after: string | null): unknown => [{ field: "name", before, after }];
    expect(data).toEqual({
      auditEvents: [
        { action: "ADD_RESOURCE", outcome: "DONE", key: noKey, changes: named(null, "ORDERS") },
        expect.objectContaining({ action: "CREATE" }),
        { action: "ADD_RESOURCE", outcome: "FORBIDDEN", key: noKey, changes: named(null, "NEW") },
        { action: "REMOVE_RESOURCE", outcome: "FORBIDDEN", key: noKey, changes: named("ORDERS", null) },
      ],
    });
  }));

Deno.test("A refused request to remove a resource in use is recorded with the name of the resource, without secrets", () =>
  withServer(async (server) => {
    const { local, create, keyWith, store } = server;
    await add(server, "ORDERS");
    await keyWith("ORDERS:READ_ANY");
    await post(local, REMOVE_RESOURCE, { name: "ORDERS" });
    const { key: secret } = await create({ name: "guest", roles: ["GUEST"] });
    await post(local, ADD_RESOURCE, { input: { name: secret } });
    const events = (await store.listEvents(undefined, 10)).filter(({ outcome }) => outcome !== "DONE");
    expect(events).toMatchObject([
      { action: "REMOVE_RESOURCE", outcome: "FAILED", changes: [{ field: "name", before: "ORDERS", after: null }] },
      { action: "ADD_RESOURCE", outcome: "USAGE", changes: [{ field: "name", before: null }] },
    ]);
    expect(JSON.stringify(events)).not.toContain(secret);
  }));
