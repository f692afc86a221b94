/** GraphQL over HTTP, as specified in https://graphql.github.io/graphql-over-http/draft/. */
import { expect } from "expect";
import { serverAudits } from "graphql-http";
import { withHttp } from "../http/http_server.ts";
import { GRAPHQL_URL, namesIn, type Result, send, type TestServer, withServer } from "./graphql.ts";

const QUERY = JSON.stringify({ query: "{ __typename }" });
const MUTATION = 'mutation { apiKey { create(input: { name: "made", roles: [ADMIN] }) { id } } }';
const JSON_TYPE = "application/json";
const NEW_TYPE = "application/graphql-response+json";
const ALLOWED = "GET, HEAD, POST, OPTIONS";

interface KeyTest extends TestServer {
  /** Sends a request with a valid key. */
  readonly request: (init: RequestInit, search?: string) => Promise<Result>;
  /** Posts a JSON body with a valid key. */
  readonly postJson: (body: string, headers?: Readonly<Record<string, string>>) => Promise<Result>;
  readonly secret: string;
}

function withKey(test: (server: KeyTest) => Promise<void>): Promise<void> {
  return withServer(async (server) => {
    const { key: secret } = await server.create({ name: "admin", roles: ["ADMIN"] });
    const request: KeyTest["request"] = (init, search = "") => {
      const headers = new Headers(init.headers);
      headers.set("authorization", `Bearer ${secret}`);
      return send(server.network, new Request(`${GRAPHQL_URL}${search}`, { ...init, headers }));
    };
    const postJson: KeyTest["postJson"] = (body, headers) =>
      request({ method: "POST", headers: { "content-type": JSON_TYPE, ...headers }, body });
    await test({ ...server, request, postJson, secret });
  });
}

/** Encodes a body as bytes. For bytes, `Request` adds no content type. */
function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function expectError({ status, headers, codes, messages, data }: Result, expected: number, code = "USAGE"): void {
  expect({ status, codes, data }).toEqual({ status: expected, codes: [code], data: undefined });
  expect(messages[0]).not.toBe("");
  expect(headers.get("content-type")).toMatch(/^application\/(graphql-response\+)?json; charset=utf-8$/);
  expect(headers.get("cache-control")).toBe("no-store");
}

Deno.test("Every server audit of the package graphql-http passes without errors, warnings or notices", () =>
  withHttp(async ({ url, create }) => {
    const { key } = await create({ name: "admin", roles: ["ADMIN"] });
    const audits = serverAudits({
      url,
      fetchFn: async (target: string, init: RequestInit = {}) => {
        const headers = new Headers(init.headers);
        headers.set("authorization", `Bearer ${key}`);
        const body = typeof init.body === "string" ? bytes(init.body) : null;
        const response = await fetch(target, { ...init, headers, body });
        // Reads the body here, because some audits do not, and the test would report a leak.
        return new Response(await response.bytes(), response);
      },
    });
    const results = await Promise.all(audits.map(async ({ fn, id, name }) => ({ id, name, result: await fn() })));
    const failed = results.filter(({ result }) => result.status !== "ok");
    expect(failed.map(({ id, name, result }) => `${id} ${name}: ${result.status}`)).toEqual([]);
    expect(results.length).toBeGreaterThan(50);
  }));

Deno.test("HEAD gets the same response as GET, without the body", () =>
  withKey(async ({ request }) => {
    const [get, head] = await Promise.all(
      ["GET", "HEAD"].map((method) => request({ method, headers: { accept: NEW_TYPE } }, "?query={me{name}}")),
    );
    expect([get?.status, get?.data]).toEqual([200, { me: { name: "admin" } }]);
    expect([head?.status, head?.text]).toEqual([200, ""]);
    expect(head?.headers.get("content-type")).toBe(get?.headers.get("content-type"));
  }));

Deno.test("OPTIONS gets 204 and the allowed methods, with or without a key", () =>
  withKey(async ({ request, network }) => {
    const withoutKey = await send(network, new Request(GRAPHQL_URL, { method: "OPTIONS" }));
    for (const { status, headers, text } of [await request({ method: "OPTIONS" }), withoutKey]) {
      expect([status, headers.get("allow"), text]).toEqual([204, ALLOWED, ""]);
    }
  }));

Deno.test("A method other than GET, HEAD, POST and OPTIONS gets 405 and the allowed methods, with or without a key", () =>
  withKey(async ({ request, network }) => {
    const init = { method: "PUT", headers: { "content-type": JSON_TYPE }, body: QUERY };
    for (const result of [await request(init), await send(network, new Request(GRAPHQL_URL, init))]) {
      expect(result.headers.get("allow")).toBe(ALLOWED);
      expectError(result, 405);
    }
  }));

Deno.test("No response has CORS headers, so web pages from other origins cannot read the responses", () =>
  withKey(async ({ request }) => {
    const headers = { origin: "https://evil.example", "access-control-request-method": "POST" };
    const results = [await request({ method: "OPTIONS", headers }), await request({ headers }, "?query={__typename}")];
    const names = results.flatMap((result) => [...result.headers.keys()]);
    expect(names.filter((name) => name.startsWith("access-control-"))).toEqual([]);
  }));

Deno.test("A POST that is not application/json in UTF-8 gets 415 and changes nothing, so a web form cannot make changes", () =>
  withKey(async ({ request, store }) => {
    const types = [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "application/json; charset=latin1",
      "application/jsonp",
      undefined,
    ];
    const body = bytes(JSON.stringify({ query: MUTATION }));
    const results = await Promise.all(types.map((type) => {
      const headers: HeadersInit = type === undefined ? {} : { "content-type": type };
      return request({ method: "POST", headers, body });
    }));
    for (const result of results) expectError(result, 415);
    const form = new URLSearchParams({ query: MUTATION });
    expectError(await request({ method: "POST", body: form }, `?${form}`), 415);
    expect(await namesIn(store)).toEqual(["admin"]);
  }));

Deno.test("The content type application/json is accepted in any letter case and with charset=utf-8", () =>
  withKey(async ({ postJson }) => {
    for (const type of ["application/json; charset=utf-8", "APPLICATION/JSON;charset=UTF-8"]) {
      // deno-lint-ignore no-await-in-loop -- only two types
      expect((await postJson(QUERY, { "content-type": type })).data).toEqual({ __typename: "Query" });
    }
  }));

Deno.test("A body that is not a GraphQL request gets 400 with a GraphQL error, whichever media type the client accepts", () =>
  withKey(async ({ postJson }) => {
    for (const body of [" \n[]", "{", "", '{"provider":"p","clientId":"c"}', '{"query":"{a}","variables":"{}"}']) {
      const results = [postJson(body, { accept: JSON_TYPE }), postJson(body, { accept: NEW_TYPE })];
      for (const result of await Promise.all(results)) expectError(result, 400);
    }
  }));

Deno.test("A list of operations gets 400 and changes nothing, and the message says to send one operation per request", () =>
  withKey(async ({ postJson, store }) => {
    const result = await postJson(JSON.stringify([{ query: MUTATION }]));
    expectError(result, 400);
    expect(result.messages).toEqual(["Send one operation per request, not a list of operations."]);
    expect(await namesIn(store)).toEqual(["admin"]);
  }));

Deno.test("An invalid document gets 400 if the client accepts application/graphql-response+json, and 200 if it accepts application/json", () =>
  withKey(async ({ postJson }) => {
    const body = JSON.stringify({ query: "subscription { a }" });
    expectError(await postJson(body, { accept: NEW_TYPE }), 400);
    expectError(await postJson(body, { accept: JSON_TYPE }), 200);
  }));

Deno.test("If the client does not accept JSON in UTF-8, the response is 406", () =>
  withKey(async ({ request, postJson }) => {
    for (const accept of ["text/html", "application/xml, text/*", "application/json; charset=latin1"]) {
      // deno-lint-ignore no-await-in-loop -- only three headers
      expectError(await postJson(QUERY, { accept }), 406);
      // deno-lint-ignore no-await-in-loop -- only three headers
      expectError(await request({ headers: { accept } }, "?query={__typename}"), 406);
    }
  }));

Deno.test("A mutation sent with GET or HEAD gets 405 and changes nothing", () =>
  withKey(async ({ request, store }) => {
    const search = `?query=${encodeURIComponent(MUTATION)}`;
    const result = await request({}, search);
    expectError(result, 405);
    expect([result.headers.get("allow"), result.messages]).toEqual(["POST", [
      "GET accepts only queries. Send mutations with POST.",
    ]]);
    const head = await request({ method: "HEAD" }, search);
    expect([head.status, head.headers.get("allow"), head.text]).toEqual([405, "POST", ""]);
    const both = encodeURIComponent(`query Look { me { name } } ${MUTATION.replace("mutation", "mutation Make")}`);
    expectError(await request({}, `?query=${both}&operationName=Make`), 405);
    expect(await namesIn(store)).toEqual(["admin"]);
    expect((await request({}, `?query=${both}&operationName=Look`)).data).toEqual({ me: { name: "admin" } });
  }));

Deno.test("The response to a request without a valid key has the media type that the client accepts", () =>
  withServer(async ({ network }) => {
    for (const [accept, type] of [[NEW_TYPE, NEW_TYPE], ["*/*", JSON_TYPE]] as const) {
      // deno-lint-ignore no-await-in-loop -- only two types
      const result = await send(network, new Request(GRAPHQL_URL, { headers: { accept } }));
      expectError(result, 401, "UNAUTHENTICATED");
      expect(result.headers.get("content-type")).toBe(`${type}; charset=utf-8`);
    }
  }));

Deno.test("The response to every GraphQL operation forbids caching and content type sniffing", () =>
  withKey(async ({ postJson }) => {
    const queries = ["{ __typename }", MUTATION, '{ apiKeysByName(name: "-") { id } }'];
    for (const { headers } of await Promise.all(queries.map((query) => postJson(JSON.stringify({ query }))))) {
      expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual(["no-store", "nosniff"]);
    }
  }));
