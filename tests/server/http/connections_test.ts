/** What happens on real sockets: malformed HTTP, several requests at once, request ids, HTTP/1.0. */
import { expect } from "expect";
import { gateBefore } from "../replaced_store.ts";
import { Connection, toRequest } from "./connection.ts";
import { bearer, pathOf, withHttp } from "./http_server.ts";

const JSON_TYPE = { "Content-Type": "application/json" };
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

for (
  const [what, request] of [
    ["text that is not HTTP", "what do you have to offer?\r\n\r\n"],
    ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"],
    ["an unknown method", "FETCH /graphql HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["a header without a colon", "GET /graphql HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n"],
    ["control characters in the path", "GET /\x1b[2J HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["no Host header", "GET /graphql HTTP/1.1\r\n\r\n"],
    ["two lengths", "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"],
    [
      "a length and chunks",
      "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
  ] as const
) {
  Deno.test(`A client that sends ${what} gets 400 and is disconnected`, () =>
    withHttp(async ({ url }) => {
      using connection = await Connection.to(url);
      await connection.send(request);
      const text = await connection.end();
      expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nconnection: close\r\n/i);
      expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    }));
}

Deno.test("An invalid chunk gets 400, and what follows is not taken as another request", () =>
  withHttp(async (server) => {
    const headers = { ...await bearer(server), ...JSON_TYPE, "Transfer-Encoding": "chunked" };
    using connection = await Connection.to(server.url);
    await connection.send(`${toRequest("POST", "/graphql", headers)}zz\r\n${toRequest("GET", "/healthz")}`);
    const text = await connection.end();
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  }));

Deno.test("40 KB of headers get 431, and 8 KB are accepted", () =>
  withHttp(async (server) => {
    const headers = await bearer(server);
    const statusWith = async (length: number): Promise<number> => {
      using connection = await Connection.to(server.url);
      await connection.request("GET", pathOf("{ __typename }"), { ...headers, "X-Long": "x".repeat(length) });
      return (await connection.response()).status;
    };
    expect([await statusWith(40_000), await statusWith(8000)]).toEqual([431, 200]);
  }));

Deno.test("Pipelined requests are answered in order, also if the first one is slow", () => {
  const gate = gateBefore("isEmpty");
  return withHttp(async (server) => {
    const headers = await bearer(server);
    using connection = await Connection.to(server.url);
    const queries = ["{ slow: apiKeysExist }", "{ me { name } }", "{ __typename }"];
    await connection.send(queries.map((query) => toRequest("GET", pathOf(query), headers)).join(""));
    await gate.reached;
    gate.open();
    const bodies: string[] = [];
    // deno-lint-ignore no-await-in-loop -- one response after the other
    for (const _ of queries) bodies.push((await connection.response()).body);
    expect(bodies).toEqual([
      '{"data":{"slow":true}}',
      '{"data":{"me":{"name":"admin"}}}',
      '{"data":{"__typename":"Query"}}',
    ]);
  }, { wrap: gate.wrap });
});

Deno.test("Each of 150 simultaneous connections gets its own response", () =>
  withHttp(async (server) => {
    const headers = await bearer(server);
    const bodies = await Promise.all(Array.from({ length: 150 }, async (_, i) => {
      using connection = await Connection.to(server.url);
      await connection.request("GET", pathOf(`{ a${i}: __typename }`), headers);
      return (await connection.response()).body;
    }));
    expect(bodies).toEqual(bodies.map((_, i) => `{"data":{"a${i}":"Query"}}`));
  }));

Deno.test("A client that sends Expect: 100-continue gets 100 before it sends the body", () =>
  withHttp(async (server) => {
    const headers = { ...await bearer(server), ...JSON_TYPE, "Content-Length": "26", Expect: "100-continue" };
    using connection = await Connection.to(server.url);
    await connection.request("POST", "/graphql", headers);
    expect((await connection.response("HEAD")).status).toBe(100);
    await connection.send('{"query":"{ __typename }"}');
    expect(await connection.response()).toMatchObject({ status: 200, body: '{"data":{"__typename":"Query"}}' });
  }));

Deno.test("HTTP/1.0 is answered, and the connection is closed", () =>
  withHttp(async (server) => {
    const { Authorization } = await bearer(server);
    using connection = await Connection.to(server.url);
    await connection.send(`GET ${pathOf("{ __typename }")} HTTP/1.0\r\nAuthorization: ${Authorization}\r\n\r\n`);
    const text = await connection.end();
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(text).toContain('{"data":{"__typename":"Query"}}');
  }));

Deno.test("A request id of the client is returned and logged", () =>
  withHttp(async ({ url, accessLog }) => {
    const ids = ["a", "Root=1-67891233-abcdef012345678912345678", "x".repeat(128)];
    using connection = await Connection.to(url);
    for (const id of ids) {
      // deno-lint-ignore no-await-in-loop -- one request after the other
      await connection.request("GET", "/healthz", { "X-Request-Id": id });
      // deno-lint-ignore no-await-in-loop -- one request after the other
      expect((await connection.response()).headers.get("x-request-id")).toBe(id);
    }
    expect(accessLog.map(({ requestId }) => requestId)).toEqual(ids);
  }));

Deno.test("An unsafe request id is replaced by one of the server's", () =>
  withHttp(async ({ url }) => {
    using connection = await Connection.to(url);
    for (const id of ["", "two words", "x".repeat(129), '"quoted"', "<b>", "é", `sak_${"a".repeat(49)}`]) {
      // deno-lint-ignore no-await-in-loop -- one request after the other
      await connection.request("GET", "/healthz", { "X-Request-Id": id });
      // deno-lint-ignore no-await-in-loop -- one request after the other
      expect((await connection.response()).headers.get("x-request-id")).toMatch(UUID);
    }
  }));

Deno.test("Every response has a request id of its own, the same as in the access log", () =>
  withHttp(async ({ url, accessLog }) => {
    using connection = await Connection.to(url);
    const ids: string[] = [];
    for (const [method, path] of [["GET", "/graphql"], ["OPTIONS", "/graphql"], ["HEAD", "/graphql"], ["GET", "/x"]]) {
      // deno-lint-ignore no-await-in-loop -- one request after the other
      await connection.request(method ?? "", path ?? "");
      // deno-lint-ignore no-await-in-loop -- one request after the other
      ids.push((await connection.response(method)).headers.get("x-request-id") ?? "none");
    }
    for (const id of ids) expect(id).toMatch(UUID);
    expect(new Set(ids).size).toBe(ids.length);
    expect(accessLog.map(({ requestId }) => requestId)).toEqual(ids);
  }));

Deno.test("A request may name a whole URL instead of a path", () =>
  withHttp(async ({ url }) => {
    using connection = await Connection.to(url);
    await connection.request("GET", "http://somewhere.example/healthz");
    expect((await connection.response()).status).toBe(200);
  }));

Deno.test("A request to upgrade the protocol gets 400 and the reason", () =>
  withHttp(async ({ url }) => {
    using connection = await Connection.to(url);
    await connection.request("GET", "/healthz", { Connection: "Upgrade, HTTP2-Settings", Upgrade: "h2c" });
    const { status, body } = await connection.response();
    expect({ status, body }).toEqual({ status: 400, body: expect.stringContaining("Upgrade") });
  }));
