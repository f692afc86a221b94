/** Requests with which a client tries to get past `/verify`, or to make it work for nothing. Each uses a raw connection. */
import { expect } from "expect";
import { Connection, type RawResponse, toRequest } from "../http/connection.ts";
import { type HttpTest, type HttpTestOptions, withHttp } from "../http/http_server.ts";

interface Attack extends HttpTest {
  /** The secret of a key with DOCKER:READ_ANY and no other right. */
  readonly key: string;
  /** The `Authorization` header with this key. */
  readonly bearer: Readonly<Record<string, string>>;
  /** Sends a request on a new connection, and returns the status of the response. */
  readonly statusOf: (...request: Parameters<Connection["request"]>) => Promise<number>;
  /** Sends the lines of a request on a new connection, and returns the response. */
  readonly sendLines: (...lines: readonly string[]) => Promise<RawResponse>;
}

function withAttack(attack: (server: Attack) => Promise<void>, options?: HttpTestOptions): Promise<void> {
  return withHttp(async (server) => {
    const { key } = await server.keyWith("DOCKER:READ_ANY");
    const statusOf: Attack["statusOf"] = async (method, ...request) => {
      using connection = await Connection.to(server.url);
      await connection.request(method, ...request);
      return (await connection.response(method)).status;
    };
    const sendLines: Attack["sendLines"] = async (...lines) => {
      using connection = await Connection.to(server.url);
      await connection.send([...lines, "", ""].join("\r\n"));
      return await connection.response();
    };
    await attack({ ...server, key, bearer: { Authorization: `Bearer ${key}` }, statusOf, sendLines });
  }, options);
}

for (
  const [path, status] of [
    // What follows NEEDS comes from the client.
    ["/verify/VMS:READ_ANY/../any", 403],
    ["/verify/VMS:READ_ANY/../../verify/any", 403],
    ["/verify/VMS:READ_ANY/..%2f..%2fany", 403],
    ["/verify/VMS:READ_ANY//any", 403],
    ["/verify/VMS:READ_ANY/?can=DOCKER:READ_ANY", 403],
    ["/verify/VMS:READ_ANY?can=DOCKER:READ_ANY", 403],
    ["/verify/VMS:READ_ANY%2fany", 400],
    ["/verify/VMS:READ_ANY\\..\\any", 400],
    ["/verify/any%2f..%2fVMS:READ_ANY", 400],
    ["/verify/any;/", 400],
    ["/verify/any%00", 400],
    ["/verify/%61ny", 400],
    ["/verify/DOCKER%3AREAD_ANY", 400],
    ["/verify//any", 400],
    ["/verify/../verify/any", 400],
    // No other path is the gate.
    ["/verify%2fany", 404],
    ["/verify%3Fcan=VMS:READ_ANY", 404],
    ["/verify%00?can=VMS:READ_ANY", 404],
    ["/verify;x?can=VMS:READ_ANY", 404],
    ["/verify\\any", 404],
    ["//verify/any", 404],
    ["/./verify/any", 404],
    ["/x/../verify/any", 404],
    ["/VERIFY/any", 404],
    ["/%76erify/any", 404],
    // A client that a proxy lets add to the query can only add requirements.
    ["/verify?can=VMS:READ_ANY&can=DOCKER:READ_ANY", 403],
    ["/verify?can=DOCKER:READ_ANY&can=VMS:READ_ANY", 403],
    ["/verify?can=DOCKER:READ_ANY&CAN=VMS:READ_ANY", 400],
    ["/verify?can=VMS:READ_ANY?can=DOCKER:READ_ANY", 400],
    ["/verify?can=VMS:READ_ANY%26can=DOCKER:READ_ANY", 400],
    ["/verify?can=VMS:READ_ANY;can=DOCKER:READ_ANY", 400],
    ["/verify?can=DOCKER:READ_ANY%00", 400],
    // The request line can contain a whole URL.
    ["http://elsewhere/verify?can=VMS:READ_ANY", 403],
    ["HTTP://elsewhere/verify/VMS:READ_ANY/http://x/verify/any", 403],
    ["http://elsewhere/http://x/verify/any", 404],
    ["http://elsewhere?/verify/any", 404],
  ] as const
) {
  Deno.test(`A client with a key for another permission cannot get past the gate with ${path}: ${status}`, () =>
    withAttack(async ({ statusOf, bearer }) => {
      expect(await statusOf("GET", path, bearer)).toBe(status);
    }));
}

Deno.test("A request with two keys gets 400 invalid_request, however the client or a proxy writes them", () =>
  withAttack(async ({ sendLines, key }) => {
    const bearer = `Authorization: Bearer ${key}`;
    const bare = `X-API-Key: ${key}`;
    for (
      const lines of [
        [bearer, bearer],
        [bearer, "authorization: Basic YTpi"],
        ["Authorization: Basic YTpi", bearer],
        [`Authorization: Bearer wrong, Bearer ${key}`],
        [`Authorization: Bearer ${key},Bearer wrong`],
        [`Authorization: Basic YTpi, Bearer ${key}`],
        [bare, bare],
        ["X-API-Key: wrong", `x-api-key: ${key}`],
        [`X-API-Key: wrong, ${key}`],
        [`X-API-Key: ${key},wrong`],
        [bearer, bare],
        [bearer, "X-API-Key:"],
        ["Authorization: Bearer", bare],
        [`Authorization: bearer\t${key}`, bare],
      ]
    ) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      const { status, headers, body } = await sendLines("GET /verify HTTP/1.1", "Host: a", ...lines);
      const challenge = headers.get("www-authenticate");
      expect({ lines, status, challenge, type: headers.get("content-type"), body }).toEqual({
        lines,
        status: 400,
        challenge: 'Bearer realm="service-api", error="invalid_request"',
        type: "text/plain; charset=utf-8",
        body: expect.stringMatching(/^Send .*\n$/),
      });
    }
  }));

Deno.test("A request to /introspect with two Authorization headers gets an error in the form of OAuth", () =>
  withAttack(async ({ sendLines, key }) => {
    const bearer = `Authorization: Bearer ${key}`;
    const { status, body } = await sendLines(
      "POST /introspect HTTP/1.1",
      "Host: a",
      bearer,
      bearer,
      "Content-Length: 0",
    );
    expect([status, JSON.parse(body)]).toEqual([400, {
      error: "invalid_request",
      error_description: "Send the headers Host, Authorization and X-API-Key only once.",
    }]);
  }));

Deno.test("A folded header, or one with a space before its colon, gets 400", () =>
  withAttack(async ({ url, key }) => {
    for (
      const lines of [
        ["Authorization: Bearer", ` ${key}`],
        ["X-Other: a", ` Authorization: Bearer ${key}`],
        [`Authorization : Bearer ${key}`],
        [`X-Other: a\rAuthorization: Bearer ${key}`],
      ]
    ) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      using connection = await Connection.to(url);
      // deno-lint-ignore no-await-in-loop -- the list is short
      await connection.send(["GET /verify HTTP/1.1", "Host: a", ...lines, "", ""].join("\r\n"));
      // deno-lint-ignore no-await-in-loop -- the list is short
      expect(await connection.readToEnd()).toMatch(/^HTTP\/1\.1 400 /);
    }
  }));

Deno.test("Other schemes of the Authorization header, with or without commas, do not disturb X-API-Key", () =>
  withAttack(async ({ statusOf, key }) => {
    for (
      const scheme of ["Basic YTpi", 'Digest username="a", realm="b", nc=00000001', "AWS4 A=b/c, S=d;e", "Bearers x"]
    ) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      const status = await statusOf("GET", "/verify", { Authorization: scheme, "X-API-Key": key });
      expect([scheme, status]).toEqual([scheme, 204]);
    }
  }));

Deno.test("A key in the query, a cookie, a form or a header with a similar name does not count", () =>
  withAttack(async ({ statusOf, key }) => {
    expect(await statusOf("GET", `/verify?access_token=${key}&key=${key}`)).toBe(401);
    expect(await statusOf("GET", "/verify", { Cookie: `Authorization=Bearer ${key}` })).toBe(401);
    expect(await statusOf("GET", "/verify", { X_API_Key: key, "Proxy-Authorization": `Bearer ${key}` })).toBe(401);
    const form = { "Content-Type": "application/x-www-form-urlencoded" };
    expect(await statusOf("POST", "/verify", form, `access_token=${key}`)).toBe(401);
  }));

Deno.test("Headers with which proxies state an identity, a method or a path change nothing, and are not sent back", () =>
  withAttack(async ({ url, bearer, statusOf }) => {
    const forged = {
      "X-Api-Key-Id": "forged",
      "X-Api-Key-Name": "forged",
      "X-Original-URL": "/verify/any",
      "X-Rewrite-URL": "/verify/any",
      "X-Forwarded-Uri": "/verify/any",
      "X-HTTP-Method-Override": "OPTIONS",
    };
    expect(await statusOf("GET", "/verify", forged)).toBe(401);
    expect(await statusOf("GET", "/verify?can=VMS:READ_ANY", { ...forged, ...bearer })).toBe(403);
    using connection = await Connection.to(url);
    await connection.request("GET", "/verify", { ...forged, ...bearer });
    const { status, headers } = await connection.response();
    expect([status, headers.get("x-api-key-id")]).toEqual([204, expect.stringMatching(/^key_/)]);
    expect([...headers.values()].join()).not.toContain("forged");
  }));

Deno.test("No method is exempt, and all requests on one connection are checked", () =>
  withAttack(async ({ url, bearer }) => {
    using connection = await Connection.to(url);
    for (const method of ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "PROPFIND", "PURGE"]) {
      for (const [headers, status] of [[{}, 401], [bearer, 204], [{ Authorization: "Bearer wrong" }, 401]] as const) {
        // deno-lint-ignore no-await-in-loop -- one request after the other
        await connection.request(method, "/verify", headers);
        // deno-lint-ignore no-await-in-loop -- one request after the other
        expect([method, (await connection.response(method)).status]).toEqual([method, status]);
      }
    }
  }));

Deno.test("CONNECT gets no 2xx response", () =>
  withAttack(async ({ url, bearer }) => {
    for (const target of ["/verify", "127.0.0.1:443", "/verify/any"]) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      using connection = await Connection.to(url);
      // deno-lint-ignore no-await-in-loop -- the list is short
      await connection.request("CONNECT", target, { ...bearer, Connection: "close" });
      // deno-lint-ignore no-await-in-loop -- the list is short
      expect(await connection.readToEnd()).toMatch(/^(HTTP\/1\.1 4|$)/);
    }
  }));

Deno.test("Pipelined requests get their own answers, in order", () =>
  withAttack(async ({ url, bearer }) => {
    using connection = await Connection.to(url);
    const requests = [
      toRequest("GET", "/verify", bearer),
      toRequest("GET", "/verify"),
      toRequest("GET", "/verify", bearer),
    ];
    await connection.send(requests.join(""));
    const statuses: number[] = [];
    for (const _ of requests) {
      // deno-lint-ignore no-await-in-loop -- one response after the other
      statuses.push((await connection.response()).status);
    }
    expect(statuses).toEqual([204, 401, 204]);
  }));

Deno.test("An HTTP/1.0 request gets an answer without Host, and the server closes the connection", () =>
  withAttack(async ({ url, key }) => {
    for (const [line, status] of [[`Authorization: Bearer ${key}`, 204], ["X-Other: a", 401]] as const) {
      // deno-lint-ignore no-await-in-loop -- only two requests
      using connection = await Connection.to(url);
      // deno-lint-ignore no-await-in-loop -- only two requests
      await connection.send(["GET /verify HTTP/1.0", line, "", ""].join("\r\n"));
      // deno-lint-ignore no-await-in-loop -- only two requests
      expect(await connection.readToEnd()).toMatch(new RegExp(`^HTTP/1\\.[01] ${status} `));
    }
  }));

for (
  const [what, headers] of [
    ["Content-Length", { "Content-Length": "100000000" }],
    ["chunked encoding", { "Transfer-Encoding": "chunked" }],
  ] as const
) {
  Deno.test(`A body that is announced with ${what} and never sent delays no answer, and the connection closes`, () =>
    withAttack(async ({ url, bearer }) => {
      for (const [credentials, status] of [[bearer, 204], [{}, 401]] as const) {
        // deno-lint-ignore no-await-in-loop -- only two requests
        using connection = await Connection.to(url);
        // deno-lint-ignore no-await-in-loop -- only two requests
        await connection.request("POST", "/verify", { ...credentials, ...headers });
        // deno-lint-ignore no-await-in-loop -- only two requests
        const response = await connection.response();
        expect([response.status, response.headers.get("connection")]).toEqual([status, "close"]);
        // deno-lint-ignore no-await-in-loop -- only two requests
        expect(await connection.readToEnd()).toBe("");
      }
    }, { requestTimeout: 60_000, unreadBodyTimeout: 200 }));
}

Deno.test("A request that is hidden in the body of another request gets no answer", () =>
  withAttack(async ({ url, bearer }) => {
    const hidden = toRequest("GET", "/verify");
    using connection = await Connection.to(url);
    await connection.request("POST", "/verify", bearer, hidden);
    const { status, headers } = await connection.response();
    expect([status, headers.get("connection")]).toEqual([204, "close"]);
    expect(await connection.readToEnd()).toBe("");
  }, { unreadBodyTimeout: 200 }));

Deno.test("A request with Content-Length: 0 announces no body, and the connection stays usable", () =>
  withAttack(async ({ url, bearer }) => {
    using connection = await Connection.to(url);
    for (let i = 0; i < 2; i++) {
      // deno-lint-ignore no-await-in-loop -- one request after the other
      await connection.request("POST", "/verify", { ...bearer, "Content-Length": "0" });
      // deno-lint-ignore no-await-in-loop -- one request after the other
      const { status, headers } = await connection.response();
      expect([status, headers.get("connection")]).toEqual([204, expect.not.stringMatching("close")]);
    }
  }));

Deno.test("A long query and many permissions are checked, and a query beyond the limit gets 414 or 431", () =>
  withAttack(async ({ statusOf, bearer }) => {
    const many = Array<string>(500).fill("can=DOCKER:READ_ANY").join("&");
    expect(await statusOf("GET", `/verify?${many}`, bearer)).toBe(204);
    expect(await statusOf("GET", `/verify?${many}&can=VMS:READ_ANY`, bearer)).toBe(403);
    expect(await statusOf("GET", `/verify?can=DOCKER:READ_ANY${"%20".repeat(5_000)}&can=VMS:READ_ANY`, bearer)).toBe(
      403,
    );
    expect([414, 431]).toContain(await statusOf("GET", `/verify?${"x".repeat(200_000)}`, bearer));
  }));

Deno.test("A slow request to /verify is disconnected like any other", () =>
  withAttack(async ({ url }) => {
    using connection = await Connection.to(url);
    await connection.send("GET /verify HTTP/1.1\r\nHost: a\r\n");
    expect(await connection.readToEnd()).toBe("");
  }, { headersTimeout: 200 }));
