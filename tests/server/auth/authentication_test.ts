/** Spec section 5: who is let in, and what the others are told. */
import { expect } from "expect";
import { makeSecret } from "../../../src/apikey/secret.ts";
import {
  type Answer,
  ask,
  CREATE,
  DELETE,
  type Handler,
  LIST,
  listedKeys,
  send,
  URL_OF_GRAPHQL,
  withServer,
} from "../graphql/graphql.ts";

function askWithHeader(handler: Handler, authorization: string): Promise<Answer> {
  const headers = { "content-type": "application/json", authorization };
  return send(
    handler,
    new Request(URL_OF_GRAPHQL, { method: "POST", headers, body: JSON.stringify({ query: LIST }) }),
  );
}

function expectUnauthenticated({ status, headers, codes, data }: Answer): void {
  expect(status).toBe(401);
  expect(headers.get("www-authenticate")).toMatch(/^Bearer/);
  expect(headers.get("content-type")).toContain("application/json");
  expect(codes).toEqual(["UNAUTHENTICATED"]);
  expect(data).toBeUndefined();
}

Deno.test("A request without a key is answered with 401, asking for a bearer key", () =>
  withServer(async ({ network }) => {
    const answer = await ask(network, LIST);
    expectUnauthenticated(answer);
    expect(answer.messages.join()).toContain("Authorization: Bearer <API_KEY>");
  }));

Deno.test("Without a key not even the schema is shown, and a malformed request is not told from a good one", () =>
  withServer(async ({ network }) => {
    expectUnauthenticated(await ask(network, "{ __schema { types { name } } }"));
    expectUnauthenticated(await send(network, new Request(URL_OF_GRAPHQL, { method: "POST", body: "{" })));
    expectUnauthenticated(await send(network, new Request(`${URL_OF_GRAPHQL}?query={__typename}`)));
  }));

Deno.test("An Authorization header that is no bearer credential is answered with 401", () =>
  withServer(async ({ network, create }) => {
    const { key } = await create({ name: "admin", roles: ["ADMIN"] });
    const headers = ["Bearer", "Bearer ", key, `Basic ${btoa(`user:${key}`)}`, `Bearer ${key} ${key}`, `Token ${key}`];
    for (const answer of await Promise.all(headers.map((header) => askWithHeader(network, header)))) {
      expectUnauthenticated(answer);
      expect(answer.messages.join()).toContain("not of the form Bearer <API_KEY>");
      expect(answer.text).not.toContain(key.slice(4));
    }
  }));

Deno.test("A mistyped key is told as mistyped", () =>
  withServer(async ({ network, create }) => {
    const { key } = await create({ name: "admin", roles: ["ADMIN"] });
    const mistyped = [
      `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`,
      key.slice(0, -1),
      `${key}0`,
      key.toLowerCase() === key ? key.toUpperCase() : key.toLowerCase(),
      "hunter2",
    ];
    for (const answer of await Promise.all(mistyped.map((secret) => ask(network, LIST, {}, secret)))) {
      expectUnauthenticated(answer);
      expect(answer.messages.join()).toContain("mistyped");
    }
  }));

Deno.test("A well-formed key that the server does not know is told as unknown", () =>
  withServer(async ({ network }) => {
    const answer = await ask(network, LIST, {}, makeSecret(new Uint8Array(32).fill(3)));
    expectUnauthenticated(answer);
    expect(answer.messages.join()).toContain("does not know it");
  }));

Deno.test("A key lets its holder in, with Bearer in any case and blanks around", () =>
  withServer(async ({ network, create }) => {
    const { key, id } = await create({ name: "admin", roles: ["ADMIN"] });
    const headers = [`Bearer ${key}`, `bearer ${key}`, `BEARER  ${key}`, `  Bearer ${key}  `];
    for (const answer of await Promise.all(headers.map((header) => askWithHeader(network, header)))) {
      expect(answer.status).toBe(200);
      expect(listedKeys(answer).map((listed) => listed.id)).toEqual([id]);
    }
  }));

Deno.test("A deleted key fails at once, while others go on", () =>
  withServer(async ({ network, create }) => {
    const [doomed, admin] = await Promise.all([
      create({ name: "doomed", roles: ["ADMIN"] }),
      create({ name: "admin", roles: ["ADMIN"] }),
    ]);
    expect((await ask(network, LIST, {}, doomed.key)).status).toBe(200);
    await ask(network, DELETE, { ids: [doomed.id] }, admin.key);
    const answer = await ask(network, LIST, {}, doomed.key);
    expectUnauthenticated(answer);
    expect(answer.messages.join()).toContain("no longer");
    expect((await ask(network, LIST, {}, admin.key)).status).toBe(200);
  }));

Deno.test("After an overwrite the old secret fails at once and the new one works", () =>
  withServer(async ({ network, create }) => {
    const old = await create({ name: "deploy", roles: ["ADMIN"] });
    const fresh = await create({ name: "deploy", roles: ["VIEWER"], overwrite: true });
    expect(fresh.key).not.toBe(old.key);
    expect(fresh.id).not.toBe(old.id);
    expectUnauthenticated(await ask(network, LIST, {}, old.key));
    expect(listedKeys(await ask(network, LIST, {}, fresh.key)).map(({ id }) => id)).toEqual([fresh.id]);
  }));

Deno.test("A key that overwrites itself is out with its old secret", () =>
  withServer(async ({ network, create }) => {
    const old = await create({ name: "deploy", roles: ["ADMIN"] });
    const input = { name: "deploy", roles: ["ADMIN"], overwrite: true };
    expect((await ask(network, CREATE, { input }, old.key)).codes).toEqual([]);
    expectUnauthenticated(await ask(network, LIST, {}, old.key));
  }));

Deno.test("Inside the program a request without a key comes from the local caller, who has every right", () =>
  withServer(async ({ local, create }) => {
    const { id } = await create({ name: "deploy", roles: ["ADMIN"] });
    expect(listedKeys(await ask(local, LIST)).map((listed) => listed.id)).toEqual([id]);
  }));

Deno.test("Inside the program, too, a bad key is refused and does not count as none", () =>
  withServer(async ({ local }) => {
    expectUnauthenticated(await ask(local, LIST, {}, "hunter2"));
    expectUnauthenticated(await ask(local, LIST, {}, makeSecret(new Uint8Array(32).fill(4))));
  }));

Deno.test("A refusal does not repeat the key that is refused", () =>
  withServer(async ({ network }) => {
    const secret = makeSecret(new Uint8Array(32).fill(5));
    const answer = await ask(network, LIST, {}, secret);
    expectUnauthenticated(answer);
    expect(answer.text).not.toContain(secret.slice(4, 12));
  }));
