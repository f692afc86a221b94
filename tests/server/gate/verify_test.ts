/** What `/verify` answers: to valid and invalid keys, and to keys with and without the required permissions. */
import { expect } from "expect";
import { Failure } from "../../../src/apikey/failure.ts";
import { makeSecret } from "../../../src/apikey/secret.ts";
import { DELETE, post, ROTATE, toInput, UPDATE } from "../graphql/graphql.ts";
import { type HttpTest, withHttp } from "../http/http_server.ts";
import { replaceMethods } from "../replaced_store.ts";

/** Asks `/verify` and returns the status, the challenge and the body. */
async function verify(
  { at }: HttpTest,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<readonly [number, string | null, string]> {
  const response = await fetch(at(path), { headers });
  return [response.status, response.headers.get("www-authenticate"), await response.text()];
}

const INVALID_TOKEN = 'Bearer realm="service-api", error="invalid_token"';

Deno.test("A valid key gets 204 with its id and its name in percent-encoding", () =>
  withHttp(async ({ at, create }) => {
    const { id, key } = await create({ name: "Bérénice 1", roles: ["GUEST"] });
    for (
      const headers of [{ authorization: `Bearer ${key}` }, { authorization: `bearer  ${key}` }, { "x-api-key": key }]
    ) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      const response = await fetch(at("/verify"), { headers });
      expect(response.status).toBe(204);
      const { date: _, "x-request-id": __, ...sent } = Object.fromEntries(response.headers);
      expect(sent).toMatchObject({
        "x-api-key-id": id,
        "x-api-key-name": "B%C3%A9r%C3%A9nice%201",
        "cache-control": "no-store",
      });
    }
  }));

Deno.test("Without a key, the answer is 401 with a challenge that names no error", () =>
  withHttp(async (server) => {
    for (const headers of [{}, { authorization: "Basic YTpi" }, { authorization: "Bearer" }, { "x-api-key": "" }]) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      expect((await verify(server, "/verify", headers)).slice(0, 2)).toEqual([401, 'Bearer realm="service-api"']);
    }
  }));

Deno.test('A key that the server does not know gets 401 with error="invalid_token", and no body', () =>
  withHttp(async (server) => {
    const { key } = await server.keyWith("DOCKER:READ_ANY");
    const unknown = makeSecret(new Uint8Array(32));
    for (
      const headers of [
        { authorization: `Bearer ${key}x` },
        { authorization: `Bearer ${key} ${key}` },
        { authorization: `Bearer ${unknown}` },
        { "x-api-key": unknown },
        { "x-api-key": `Bearer ${key}` },
      ]
    ) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      expect(await verify(server, "/verify", headers)).toEqual([401, INVALID_TOKEN, ""]);
    }
  }));

for (
  const [path, status] of [
    ["/verify?can=DOCKER:READ_ANY", 204],
    ["/verify?can=docker:read_own&can=VMS%3AREAD_ANY", 204],
    ["/verify?can=DOCKER:READ_ANY,VMS:READ_ANY", 204],
    ["/verify?can=DOCKER:READ_ANY&can=DOCKER:UPDATE_ANY", 403],
    ["/verify?%63an=DOCKER:UPDATE_ANY", 403],
    ["/verify?can=DOCKER:READ_ANY,DOCKER:UPDATE_ANY", 403],
    ["/verify?", 204],
    ["/verify/any", 200],
    ["/verify/any/orders?can=DOCKER:UPDATE_ANY", 200],
    ["/verify/DOCKER:READ_ANY", 200],
    ["/verify/DOCKER:READ_ANY,VMS:READ_ANY/orders/7", 200],
    ["/verify/DOCKER:READ_ANY,DOCKER:UPDATE_ANY/orders/7?can=DOCKER:READ_ANY", 403],
    ["/verify?can=", 400],
    ["/verify?can", 400],
    ["/verify?can=any", 400],
    ["/verify?can=DOCKER:READ_ANY&can=", 400],
    ["/verify?can=DOCKER:READ_ANY?page=2", 400],
    ["/verify?can=DOCKER:*", 400],
    ["/verify?can=*:READ_ANY", 400],
    ["/verify?can=NOWHERE:READ_ANY", 400],
    ["/verify?can=DOCKER:READ", 400],
    ["/verify?CAN=DOCKER:UPDATE_ANY", 400],
    ["/verify?can[]=DOCKER:UPDATE_ANY", 400],
    ["/verify?permission=DOCKER:UPDATE_ANY", 400],
    ["/verify?can=DOCKER:READ_ANY&page=2", 400],
    ["/verify/any/orders?page=2", 200],
    ["/verify/", 400],
    ["/verify/any,DOCKER:READ_ANY", 400],
    ["/verify/ANY", 400],
    ["/verify/*", 400],
    ["/verify/DOCKER:READ_ANY*", 400],
    ["/verify/orders", 400],
  ] as const
) {
  Deno.test(`A key with DOCKER:READ_ANY and VMS:READ_ANY gets ${status} for ${path}`, () =>
    withHttp(async (server) => {
      const { key } = await server.keyWith("DOCKER:READ_ANY", "VMS:READ_ANY");
      expect((await verify(server, path, { authorization: `Bearer ${key}` }))[0]).toBe(status);
    }));
}

Deno.test('A key without a required permission gets 403 with error="insufficient_scope" and all required permissions', () =>
  withHttp(async (server) => {
    const { key } = await server.keyWith("DOCKER:READ_ANY");
    const path = "/verify?can=DOCKER:READ_ANY&can=vms:read_any&can=DOCKER:READ_ANY";
    expect(await verify(server, path, { "x-api-key": key })).toEqual([
      403,
      'Bearer realm="service-api", error="insufficient_scope", scope="DOCKER:READ_ANY VMS:READ_ANY"',
      "This request needs VMS:READ_ANY, which the key lacks.\n",
    ]);
  }));

Deno.test("A request with an invalid permission gets 401 if its key is not valid, otherwise 400", () =>
  withHttp(async (server) => {
    const { key } = await server.keyWith("DOCKER:READ_ANY");
    expect((await verify(server, "/verify?can=nonsense", {}))[0]).toBe(401);
    expect((await verify(server, "/verify?can=nonsense", { "x-api-key": `${key}x` }))[0]).toBe(401);
    const [status, , body] = await verify(server, "/verify?can=nonsense", { "x-api-key": key });
    expect([status, body]).toEqual([400, expect.stringContaining("RESOURCE:ACTION")]);
  }));

Deno.test("A request with a parameter other than can gets 401 if its key is not valid, otherwise 400 with its name", () =>
  withHttp(async (server) => {
    const { key } = await server.keyWith("DOCKER:READ_ANY");
    expect((await verify(server, "/verify?permission=DOCKER:READ_ANY", {}))[0]).toBe(401);
    const [status, , body] = await verify(server, "/verify?permission=DOCKER:READ_ANY", { "x-api-key": key });
    expect([status, body]).toEqual([400, 'Write can=RESOURCE:ACTION. The parameter "permission" is not allowed.\n']);
  }));

Deno.test("A request with a key in both headers gets 400 with invalid_request", () =>
  withHttp(async (server) => {
    const { key } = await server.keyWith("DOCKER:READ_ANY");
    const both = { authorization: `Bearer ${key}`, "x-api-key": key };
    expect((await verify(server, "/verify", both)).slice(0, 2))
      .toEqual([400, 'Bearer realm="service-api", error="invalid_request"']);
    expect((await verify(server, "/verify", { ...both, authorization: "Basic YTpi" }))[0]).toBe(204);
  }));

Deno.test("A key counts as used if it was checked, even if it lacks a permission", () =>
  withHttp(async (server) => {
    const { key: reader } = await server.create({ name: "reader", roles: ["VIEWER"] });
    const { id, key } = await server.keyWith("DOCKER:READ_ANY");
    await verify(server, "/verify?can=VMS:READ_ANY", { "x-api-key": key });
    const query = "query ($id: PrefixedID!) { apiKey(id: $id) { lastUsedAt } }";
    const { data } = await post(server.network, query, { id }, reader);
    expect(data).toEqual({ apiKey: { lastUsedAt: expect.any(String) } });
  }));

Deno.test("A key that is disabled, rotated or deleted gets 401 from the next request on, and the body says why if the key exists", () =>
  withHttp(async (server) => {
    const changes: Readonly<Record<string, readonly [(id: string) => Promise<unknown>, RegExp]>> = {
      disabled: [(id) => post(server.local, UPDATE, { input: { id, enabled: false } }), /is disabled/],
      rotated: [(id) => post(server.local, ROTATE, { input: { id } }), /was rotated/],
      deleted: [(id) => post(server.local, DELETE, { ids: [id] }), /^$/],
    };
    for (const [name, [change, body]] of Object.entries(changes)) {
      // deno-lint-ignore no-await-in-loop -- one key after the other
      const { id, key } = await server.create({ name, roles: ["GUEST"] });
      const headers = { authorization: `Bearer ${key}` };
      // deno-lint-ignore no-await-in-loop -- the order matters
      expect((await verify(server, "/verify", headers))[0]).toBe(204);
      // deno-lint-ignore no-await-in-loop -- the order matters
      await change(id);
      // deno-lint-ignore no-await-in-loop -- the order matters
      expect(await verify(server, "/verify", headers)).toEqual([401, INVALID_TOKEN, expect.stringMatching(body)]);
    }
  }));

Deno.test("If a key loses a permission, its next request gets 403", () =>
  withHttp(async (server) => {
    const { id, key } = await server.keyWith("DOCKER:READ_ANY", "VMS:READ_ANY");
    const ask = (): Promise<readonly unknown[]> => verify(server, "/verify?can=VMS:READ_ANY", { "x-api-key": key });
    expect((await ask())[0]).toBe(204);
    await post(server.local, UPDATE, { input: { id, permissions: toInput(["DOCKER:READ_ANY"]) } });
    expect((await ask())[0]).toBe(403);
  }));

Deno.test("However many keys are refused, the answer is never 429", () =>
  withHttp(async (server) => {
    for (let i = 0; i < 4; i++) {
      // deno-lint-ignore no-await-in-loop -- one request after the other
      expect((await verify(server, "/verify", { "x-api-key": "wrong" }))[0]).toBe(401);
    }
  }, { maxAuthFailures: 1 }));

for (const code of ["UNREACHABLE", "TIMEOUT"] as const) {
  Deno.test(`While the store answers ${code}, the answer is 503 with Retry-After, and only the log says why`, () => {
    const findBySecretHash = (): Promise<never> => Promise.reject(new Failure(code, "The store db.internal is gone."));
    return withHttp(async ({ at, errorLog, accessLog }) => {
      const response = await fetch(at("/verify"), { headers: { "x-api-key": makeSecret(new Uint8Array(32)) } });
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(await response.text()).not.toContain("db.internal");
      expect(String(errorLog[0]?.properties["error"])).toContain("db.internal");
      expect(accessLog).toMatchObject([{ path: "/verify", status: 503, code }]);
    }, { wrap: (store) => replaceMethods(store, { findBySecretHash }) });
  });
}

Deno.test("The access log has the path without the query, the id of the key, and the code of the refusal", () =>
  withHttp(async (server) => {
    const { id, key } = await server.keyWith("DOCKER:READ_ANY");
    const headers = { "x-api-key": key, "x-request-id": "one" };
    await verify(server, "/verify?can=DOCKER:READ_ANY", headers);
    await verify(server, `/verify?can=DOCKER:READ_ANY&token=${key}`, headers);
    await verify(server, `/verify/VMS:READ_ANY/orders/${key}?token=${key}`, headers);
    await verify(server, "/verify?can=nonsense", headers);
    await verify(server, "/verify", { "x-api-key": `${key}x`, "x-request-id": "one" });
    const lines = server.accessLog.map(({ requestId, path, status, keyId = "", code = "" }) =>
      [requestId, path, status, keyId, code].join(" ")
    );
    expect(lines).toEqual([
      `one /verify 204 ${id} `,
      `one /verify 400 ${id} INVALID_PERMISSION`,
      `one /verify/VMS:READ_ANY/orders/sak_… 403 ${id} FORBIDDEN`,
      `one /verify 400 ${id} INVALID_PERMISSION`,
      "one /verify 401  UNAUTHENTICATED",
    ]);
  }));
