/** Spec section 5: which requests are authenticated, and how all other requests are rejected. */
import { expect } from "expect";
import { makeSecret } from "../../../src/apikey/secret.ts";
import {
  DELETE,
  type Fetch,
  GRAPHQL_URL,
  LIST,
  listedIds,
  ME,
  post,
  type Result,
  send,
  withServer,
} from "../graphql/graphql.ts";
import { Connection, toRequest } from "../http/connection.ts";
import { withHttp } from "../http/http_server.ts";
import { recordCalls } from "../replaced_store.ts";
import { until } from "../until.ts";

const UNKNOWN_SECRET = makeSecret(new Uint8Array(32).fill(3));

function listWith(fetch: Fetch, authorization: string): Promise<Result> {
  return send(
    fetch,
    new Request(GRAPHQL_URL, {
      method: "POST",
      headers: { "content-type": "application/json", authorization },
      body: JSON.stringify({ query: LIST }),
    }),
  );
}

function expectUnauthenticated({ status, headers, codes, data, messages }: Result, message = ""): void {
  expect({ status, codes, data }).toEqual({ status: 401, codes: ["UNAUTHENTICATED"], data: undefined });
  expect(headers.get("www-authenticate")).toMatch(/^Bearer/);
  expect(headers.get("content-type")).toContain("application/json");
  expect(messages[0]).toContain(message);
}

Deno.test("A request without a key gets 401, and the message says how to send a key", () =>
  withServer(async ({ network }) => {
    expectUnauthenticated(await post(network, LIST), "Authorization: Bearer <API_KEY>");
  }));

Deno.test("Without a key, even introspection queries and malformed requests get 401", () =>
  withServer(async ({ network }) => {
    expectUnauthenticated(await post(network, "{ __schema { types { name } } }"));
    expectUnauthenticated(await send(network, new Request(GRAPHQL_URL, { method: "POST", body: "{" })));
    expectUnauthenticated(await send(network, new Request(`${GRAPHQL_URL}?query={__typename}`)));
  }));

Deno.test("A request whose Authorization header does not have the form Bearer <API_KEY> gets 401, and the response does not repeat the key", () =>
  withServer(async ({ network, create }) => {
    const { key } = await create({ name: "admin", roles: ["ADMIN"] });
    const headers = ["Bearer", key, `Basic ${btoa(`user:${key}`)}`, `Bearer ${key} ${key}`, `Token ${key}`];
    for (const result of await Promise.all(headers.map((header) => listWith(network, header)))) {
      expectUnauthenticated(result, "must have the form Bearer <API_KEY>");
      expect(result.text).not.toContain(key.slice(4));
    }
  }));

Deno.test("A malformed key gets 401, and the message says that the key may be mistyped", () =>
  withServer(async ({ network, create }) => {
    const { key } = await create({ name: "admin", roles: ["ADMIN"] });
    const mistyped = [`${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`, key.slice(0, -1), `${key}0`, "hunter2"];
    for (const result of await Promise.all(mistyped.map((secret) => post(network, LIST, {}, secret)))) {
      expectUnauthenticated(result, "mistyped");
    }
  }));

Deno.test("An unknown key gets 401, and the message says that the server does not know the key, without repeating it", () =>
  withServer(async ({ network }) => {
    const result = await post(network, LIST, {}, UNKNOWN_SECRET);
    expectUnauthenticated(result, "does not know it");
    expect(result.text).not.toContain(UNKNOWN_SECRET.slice(4, 12));
  }));

Deno.test("A valid key authenticates, with Bearer in any letter case and with extra spaces", () =>
  withServer(async ({ network, create }) => {
    const { key, id } = await create({ name: "admin", roles: ["ADMIN"] });
    const headers = [`Bearer ${key}`, `bearer ${key}`, `BEARER  ${key}`, `  Bearer ${key}  `];
    const results = await Promise.all(headers.map((header) => listWith(network, header)));
    expect(results.map(listedIds)).toEqual(headers.map(() => [id]));
  }));

Deno.test("A deleted key gets 401 on its next request, and other keys keep working", () =>
  withServer(async ({ network, create }) => {
    const [deleted, admin] = await Promise.all([
      create({ name: "deleted", roles: ["ADMIN"] }),
      create({ name: "admin", roles: ["ADMIN"] }),
    ]);
    expect((await post(network, LIST, {}, deleted.key)).status).toBe(200);
    await post(network, DELETE, { ids: [deleted.id] }, admin.key);
    expectUnauthenticated(await post(network, LIST, {}, deleted.key), "may have been deleted");
    expect((await post(network, LIST, {}, admin.key)).status).toBe(200);
  }));

Deno.test("In embedded mode, a request without a key comes from the local caller, who has every right", () =>
  withServer(async ({ local, create }) => {
    const { id } = await create({ name: "deploy", roles: ["ADMIN"] });
    expect(listedIds(await post(local, LIST))).toEqual([id]);
  }));

Deno.test("In embedded mode, a request with an invalid key gets 401", () =>
  withServer(async ({ local }) => {
    expectUnauthenticated(await post(local, LIST, {}, "hunter2"));
    expectUnauthenticated(await post(local, LIST, {}, UNKNOWN_SECRET));
  }));

Deno.test("A POST whose body arrives with its headers costs one look-up of its key, and a later body costs another one", () => {
  const calls: string[] = [];
  return withHttp(async (server) => {
    const { key } = await server.create({ name: "deploy", roles: ["GUEST"] });
    const body = JSON.stringify({ query: ME });
    const headers = toRequest("POST", "/graphql", {
      "Authorization": `Bearer ${key}`,
      "Content-Type": "application/json",
      "Content-Length": String(body.length),
    });
    using connection = await Connection.to(server.url);
    const countLookups = async (first: string, second = ""): Promise<number> => {
      calls.length = 0;
      await connection.send(first);
      if (second !== "") await until(() => calls.includes("findBySecretHash"));
      await connection.send(second);
      expect((await connection.response()).status).toBe(200);
      return calls.filter((name) => name === "findBySecretHash").length;
    };
    expect(await countLookups(headers + body)).toBe(1);
    expect(await countLookups(headers, body)).toBe(2);
  }, { wrap: (store) => recordCalls(store, calls) });
});
