/** `POST /introspect`: the answers and errors of token introspection (RFC 7662). */
import { expect } from "expect";
import { makeSecret } from "../../../src/apikey/secret.ts";
import { changedKey, post, ROTATE, UPDATE } from "../graphql/graphql.ts";
import { Connection } from "../http/connection.ts";
import { type HttpTest, type HttpTestOptions, withHttp } from "../http/http_server.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

interface IntrospectTest extends HttpTest {
  /** Introspects a token. The caller has PERMISSION:READ_ANY and no other right. */
  readonly introspect: (token: string) => Promise<Answer>;
  /** Sends a form as this caller. `request` overrides any part of the request. */
  readonly send: (form: string, request?: RequestInit) => Promise<Answer>;
  /** The secret of this caller. */
  readonly secret: string;
  readonly callerId: string;
}

function withCaller(test: (server: IntrospectTest) => Promise<void>, options?: HttpTestOptions): Promise<void> {
  return withHttp(async (server) => {
    const { id, key: secret } = await server.keyWith("PERMISSION:READ_ANY");
    const send: IntrospectTest["send"] = async (form, request = {}) => {
      const response = await fetch(server.at("/introspect"), {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, ...FORM },
        body: form,
        ...request,
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: JSON.parse(text) };
    };
    const introspect: IntrospectTest["introspect"] = (token) => send(new URLSearchParams({ token }).toString());
    await test({ ...server, introspect, send, secret, callerId: id });
  }, options);
}

Deno.test("The answer for a valid key contains its id, name, rights, creation and expiry", () =>
  withCaller(async ({ introspect, create }) => {
    const expiresAt = "2999-01-02T03:04:05.678Z";
    const { id, key, createdAt } = await create({
      name: "Bérénice",
      roles: ["GUEST"],
      permissions: [{ resource: "DOCKER", actions: ["READ_ANY"] }],
      expiresAt,
    });
    const { status, headers, body } = await introspect(key);
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("content-type")).toBe("application/json");
    expect(body).toEqual({
      active: true,
      scope: "DOCKER:READ_ANY DOCKER:READ_OWN ME:READ_OWN",
      client_id: id,
      username: "Bérénice",
      sub: id,
      token_type: "Bearer",
      iat: Math.floor(Date.parse(createdAt) / 1000),
      exp: Math.floor(Date.parse(expiresAt) / 1000),
    });
  }));

Deno.test("The answer for a key that never expires has no exp", () =>
  withCaller(async ({ introspect, keyWith }) => {
    const { key } = await keyWith("DOCKER:READ_ANY");
    const { body } = await introspect(key);
    expect(body["active"]).toBe(true);
    expect(Object.keys(body)).not.toContain("exp");
  }));

Deno.test("For a secret in its grace period, exp is the end of that period; the new secret has the expiry of the key", () =>
  withCaller(async ({ introspect, create, local }) => {
    const { id, key } = await create({ name: "rotated", roles: ["GUEST"], expiresAt: "2999-01-01T00:00:00.000Z" });
    const rotated = changedKey(await post(local, ROTATE, { input: { id, graceSeconds: 2_000_000_000 } }));
    const graceUntil = Date.parse(rotated.graceUntil ?? "");
    expect((await introspect(key)).body["exp"]).toBe(Math.floor(graceUntil / 1000));
    expect((await introspect(rotated.key)).body["exp"]).toBe(Date.parse("2999-01-01T00:00:00.000Z") / 1000);
  }));

Deno.test("The answer for a token that is not a valid key is only active: false", () =>
  withCaller(async ({ introspect, create, local, secret }) => {
    const disabled = await create({ name: "disabled", roles: ["GUEST"] });
    const rotated = await create({ name: "rotated", roles: ["GUEST"] });
    await post(local, UPDATE, { input: { id: disabled.id, enabled: false } });
    await post(local, ROTATE, { input: { id: rotated.id } });
    const tokens = ["x", " ", `${secret}x`, ` ${secret}`, makeSecret(new Uint8Array(32)), disabled.key, rotated.key];
    for (const token of tokens) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      const { status, headers, body } = await introspect(token);
      expect({ token, status, body }).toEqual({ token, status: 200, body: { active: false } });
      expect(headers.get("cache-control")).toBe("no-store");
    }
  }));

Deno.test("The server ignores token_type_hint, unknown parameters, and the query of the URL", () =>
  withCaller(async ({ at, send, secret, callerId }) => {
    const { body } = await send(`token=${secret}&token_type_hint=refresh_token&x=y`);
    expect(body["client_id"]).toBe(callerId);
    const response = await fetch(at(`/introspect?token=${secret}`), {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, ...FORM },
      body: "",
    });
    expect([response.status, (await response.json()).error]).toEqual([400, "invalid_request"]);
  }));

for (
  const [what, form] of [
    ["has no token", ""],
    ["has no token", "Token=x"],
    ["has an empty token", "token="],
    ["has two tokens", "token=x&token=x"],
    ["has a token twice, once in percent-encoding", "token=x&%74oken=y"],
    ["has two hints", "token=x&token_type_hint=a&token_type_hint=b"],
  ] as const
) {
  Deno.test(`A form that ${what} (${JSON.stringify(form)}) gets 400 invalid_request`, () =>
    withCaller(async ({ send }) => {
      const { status, headers, body } = await send(form);
      expect([status, body]).toEqual([400, { error: "invalid_request", error_description: expect.any(String) }]);
      expect(headers.get("cache-control")).toBe("no-store");
    }));
}

Deno.test("A body that is not a form in UTF-8 gets 415, and the answer names the media type", () =>
  withCaller(async ({ send, secret }) => {
    const authorization = `Bearer ${secret}`;
    for (
      const type of [
        "application/json",
        "multipart/form-data; boundary=x",
        "text/plain",
        `${FORM["content-type"]}; charset=utf-16`,
      ]
    ) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      const { status, headers, body } = await send(`token=${secret}`, {
        headers: { authorization, "content-type": type },
      });
      expect([type, status, body["error"]]).toEqual([type, 415, "invalid_request"]);
      expect(headers.get("accept-post")).toBe(FORM["content-type"]);
    }
    const accepted = { authorization, "content-type": "Application/X-WWW-Form-Urlencoded;charset=UTF-8" };
    expect((await send(`token=${secret}`, { headers: accepted })).status).toBe(200);
  }));

Deno.test("Methods other than POST get 405 and Allow", () =>
  withCaller(async ({ at, secret }) => {
    for (const method of ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      const response = await fetch(at(`/introspect?token=${secret}`), {
        method,
        headers: { authorization: `Bearer ${secret}` },
      });
      // deno-lint-ignore no-await-in-loop -- the list is short
      await response.body?.cancel();
      expect([method, response.status, response.headers.get("allow")]).toEqual([method, 405, "POST"]);
    }
  }));

Deno.test("A caller without a key gets 401 with a challenge that names no error", () =>
  withCaller(async ({ send }) => {
    const { status, headers, body } = await send("token=x", { headers: FORM });
    expect([status, headers.get("www-authenticate"), body["error"]]).toEqual([
      401,
      'Bearer realm="service-api"',
      "invalid_client",
    ]);
  }));

Deno.test('A caller whose key is not valid gets 401 with error="invalid_token"', () =>
  withCaller(async ({ send, secret }) => {
    const { status, headers, body } = await send("token=x", {
      headers: { authorization: `Bearer ${secret}x`, ...FORM },
    });
    expect([status, headers.get("www-authenticate"), body["error"]]).toEqual([
      401,
      'Bearer realm="service-api", error="invalid_token"',
      "invalid_token",
    ]);
  }));

Deno.test("A caller without PERMISSION:READ_ANY gets 401 with insufficient_scope (RFC 7662 section 2.3)", () =>
  withCaller(async ({ send, keyWith, secret }) => {
    const { key } = await keyWith("API_KEY:READ_ANY", "PERMISSION:READ_OWN");
    const { status, headers, body } = await send(`token=${secret}`, {
      headers: { authorization: `Bearer ${key}`, ...FORM },
    });
    expect(status).toBe(401);
    expect(headers.get("www-authenticate")).toBe(
      'Bearer realm="service-api", error="insufficient_scope", scope="PERMISSION:READ_ANY"',
    );
    expect(body).toEqual({
      error: "insufficient_scope",
      error_description: expect.stringContaining("PERMISSION:READ_ANY"),
    });
  }));

Deno.test("A caller can send its key in X-API-Key, and a caller with a key in both headers gets 400", () =>
  withCaller(async ({ send, secret }) => {
    expect((await send(`token=${secret}`, { headers: { "x-api-key": secret, ...FORM } })).status).toBe(200);
    const { status, body } = await send(`token=${secret}`, {
      headers: { "x-api-key": secret, authorization: `Bearer ${secret}`, ...FORM },
    });
    expect([status, body["error"]]).toEqual([400, "invalid_request"]);
  }));

Deno.test("An address whose keys are refused too often gets 429, and a caller with a valid key still gets 200", () =>
  withCaller(async ({ send, introspect }) => {
    expect((await send("token=x", { headers: FORM })).status).toBe(401);
    const { status, headers } = await send("token=x", { headers: FORM });
    expect([status, Number(headers.get("retry-after"))]).toEqual([429, expect.any(Number)]);
    expect((await introspect("x")).body).toEqual({ active: false });
  }, { maxAuthFailures: 1 }));

Deno.test("Introspecting tokens that are not valid never makes the caller wait", () =>
  withCaller(async ({ introspect, send }) => {
    for (let i = 0; i < 3; i++) {
      // deno-lint-ignore no-await-in-loop -- one request after the other
      expect((await introspect("x")).status).toBe(200);
    }
    expect((await send("token=x", { headers: FORM })).status).toBe(401);
  }, { maxAuthFailures: 1 }));

Deno.test("A form that is longer than --max-body gets 413", () =>
  withCaller(async ({ introspect }) => {
    const { status, body } = await introspect("x".repeat(1000));
    expect([status, body["error"]]).toEqual([413, "invalid_request"]);
  }, { maxBody: 1000 }));

Deno.test("If the caller is disabled while its form arrives, it gets 401", () =>
  withCaller(async ({ url, secret, callerId, local }) => {
    const form = `token=${secret}`;
    using connection = await Connection.to(url);
    await connection.request("POST", "/introspect", {
      Authorization: `Bearer ${secret}`,
      ...FORM,
      "Content-Length": String(form.length),
    });
    await connection.send(form.slice(0, 10));
    // The response to this request shows that the server has authenticated the first request.
    using other = await Connection.to(url);
    await other.request("GET", "/healthz");
    await other.response();
    await post(local, UPDATE, { input: { id: callerId, enabled: false } });
    await connection.send(form.slice(10));
    expect((await connection.response()).status).toBe(401);
  }));

Deno.test("An active token counts as used, so that --unused does not find keys that only services check", () =>
  withCaller(async ({ introspect, create, keyWith, network }) => {
    const { key: reader } = await create({ name: "reader", roles: ["VIEWER"] });
    const { id, key } = await keyWith("DOCKER:READ_ANY");
    await introspect(key);
    const { data } = await post(network, "query ($id: PrefixedID!) { apiKey(id: $id) { lastUsedAt } }", { id }, reader);
    expect(data).toEqual({ apiKey: { lastUsedAt: expect.any(String) } });
  }));
