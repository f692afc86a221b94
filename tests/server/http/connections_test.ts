/** Invalid HTTP, large headers, protocol upgrades, and the ids of requests. */
import { expect } from "expect";
import { Connection, toRequest } from "./connection.ts";
import { bearer, pathOf, withHttp } from "./http_server.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

Deno.test("A client that sends invalid HTTP gets one 400 response and is disconnected", () =>
  withHttp(async (server) => {
    const post = toRequest("POST", "/graphql", { ...await bearer(server), "Transfer-Encoding": "chunked" });
    const invalid = [
      "what do you have to offer?\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
      "GET /\x1b[2J HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      `${post}zz\r\n${toRequest("GET", "/healthz")}`,
    ];
    await Promise.all(invalid.map(async (text) => {
      using connection = await Connection.to(server.url);
      await connection.send(text);
      const response = await connection.readToEnd();
      expect(response).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nconnection: close\r\n/i);
      expect(response.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    }));
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

Deno.test("A safe request id that the client sends is returned and logged", () =>
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

Deno.test("An unsafe request id is replaced with an id that the server generates", () =>
  withHttp(async ({ url }) => {
    using connection = await Connection.to(url);
    for (const id of ["", "two words", "x".repeat(129), '"quoted"', "<b>", "é", `sak_${"a".repeat(49)}`]) {
      // deno-lint-ignore no-await-in-loop -- one request after the other
      await connection.request("GET", "/healthz", { "X-Request-Id": id });
      // deno-lint-ignore no-await-in-loop -- one request after the other
      expect((await connection.response()).headers.get("x-request-id")).toMatch(UUID);
    }
  }));

Deno.test("If the client sends no request id, the response has a unique one, which is also in the access log", () =>
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

Deno.test("A request line may contain a full URL instead of a path", () =>
  withHttp(async ({ url }) => {
    using connection = await Connection.to(url);
    await connection.request("GET", "http://somewhere.example/healthz");
    expect((await connection.response()).status).toBe(200);
  }));

Deno.test("A request to upgrade the protocol gets 400 with the reason", () =>
  withHttp(async ({ url }) => {
    using connection = await Connection.to(url);
    await connection.request("GET", "/healthz", { Connection: "Upgrade, HTTP2-Settings", Upgrade: "h2c" });
    const { status, body } = await connection.response();
    expect({ status, body }).toEqual({ status: 400, body: expect.stringContaining("Upgrade") });
  }));

Deno.test("A request with two Host or two Authorization headers gets 400, and the connection stays usable", () =>
  withHttp(async (server) => {
    const { Authorization = "" } = await bearer(server);
    using connection = await Connection.to(server.url);
    for (
      const lines of [
        ["Host: a", "Host: b"],
        ["Host: a", "host: a"],
        ["Host: a", `Authorization: ${Authorization}`, `authorization: ${Authorization}`],
      ]
    ) {
      // deno-lint-ignore no-await-in-loop -- one request after the other
      await connection.send([`GET ${pathOf("{ __typename }")} HTTP/1.1`, ...lines, "", ""].join("\r\n"));
      // deno-lint-ignore no-await-in-loop -- one request after the other
      const { status, body } = await connection.response();
      expect([status, JSON.parse(body).errors]).toEqual([400, [{
        message: "Send the headers Host, Authorization and X-API-Key only once.",
        extensions: { code: "USAGE" },
      }]]);
    }
    await connection.request("GET", "/healthz");
    expect((await connection.response()).status).toBe(200);
  }));

Deno.test('A 401 response has error="invalid_token" only if the request has a bearer key (RFC 6750 section 3.1)', () =>
  withHttp(async ({ url }) => {
    using connection = await Connection.to(url);
    const challenges: (string | undefined)[] = [];
    for (const authorization of [undefined, "Basic YTpi", "Bearer ", "Bearer wrong", `bearer sak_${"a".repeat(49)}`]) {
      const headers = authorization === undefined ? {} : { Authorization: authorization };
      // deno-lint-ignore no-await-in-loop -- one request after the other
      await connection.request("GET", pathOf("{ __typename }"), headers);
      // deno-lint-ignore no-await-in-loop -- one request after the other
      const response = await connection.response();
      expect(response.status).toBe(401);
      challenges.push(response.headers.get("www-authenticate"));
    }
    const without = 'Bearer realm="service-api"';
    const invalid = `${without}, error="invalid_token"`;
    expect(challenges).toEqual([without, without, without, invalid, invalid]);
  }));
