/** A stopping server answers the requests in progress and rejects new requests. */
import { expect } from "expect";
import { gateBefore } from "../replaced_store.ts";
import { until } from "../until.ts";
import { Connection, toRequest } from "./connection.ts";
import { bearer, type HttpTest, pathOf, withHttp } from "./http_server.ts";

interface Stopping extends HttpTest {
  readonly headers: Readonly<Record<string, string>>;
  /** Resolves when the server begins to execute a request to {@linkcode SLOW}. */
  readonly reached: Promise<void>;
  /** Lets the requests to {@linkcode SLOW} finish. */
  readonly open: () => void;
}

const SLOW = pathOf("{ apiKeysExist }");
const QUICK = pathOf("{ __typename }");

/** A timeout so long that the tests never reach it, in milliseconds. */
const LONG = 20_000;

function withSlowStore(test: (server: Stopping) => Promise<void>): Promise<void> {
  const gate = gateBefore("isEmpty");
  return withHttp(
    async (server) => test({ ...server, headers: await bearer(server), reached: gate.reached, open: gate.open }),
    { wrap: gate.wrap },
  );
}

async function isRefused(url: string): Promise<boolean> {
  try {
    (await Connection.to(url))[Symbol.dispose]();
    return false;
  } catch (error) {
    return error instanceof Deno.errors.ConnectionRefused;
  }
}

Deno.test("While the server stops, a request in progress is answered and new connections are refused", () =>
  withSlowStore(async ({ url, server, headers, reached, open }) => {
    using connection = await Connection.to(url);
    await connection.request("GET", SLOW, headers);
    await reached;
    const stopping = server.stop(LONG);
    await until(() => isRefused(url));
    open();
    const response = await connection.response();
    expect(response).toMatchObject({ status: 200, body: '{"data":{"apiKeysExist":true}}' });
    expect(response.headers.get("connection")).toBe("close");
    expect(await stopping).toBe(0);
    expect(await connection.readToEnd()).toBe("");
  }));

Deno.test("While the server stops, a request whose body is still arriving is answered", () =>
  withSlowStore(async ({ url, server, headers, accessLog }) => {
    using connection = await Connection.to(url);
    const body = JSON.stringify({ query: "{ me { name } }" });
    const request = toRequest("POST", "/graphql", { ...headers, "Content-Type": "application/json" }, body);
    await connection.send(request.slice(0, -5));
    using other = await Connection.to(url);
    await other.request("GET", QUICK, headers);
    await other.response();
    const stopping = server.stop(LONG);
    await until(() => isRefused(url));
    await connection.send(request.slice(-5));
    expect(await connection.response()).toMatchObject({ status: 200, body: '{"data":{"me":{"name":"admin"}}}' });
    expect(await stopping).toBe(0);
    expect(accessLog.map(({ status }) => status)).toEqual([200, 200]);
  }));

Deno.test("While the server stops, a new request on an idle connection gets 503, and the connection is closed", () =>
  withHttp(async (server) => {
    const headers = await bearer(server);
    using connection = await Connection.to(server.url);
    await connection.request("GET", QUICK, headers);
    expect((await connection.response()).headers.get("connection")).not.toBe("close");
    const stopping = server.server.stop(LONG);
    await connection.request("GET", QUICK, headers);
    const rejected = await connection.response();
    expect([rejected.status, rejected.headers.get("connection")]).toEqual([503, "close"]);
    expect(await connection.readToEnd()).toBe("");
    expect(await stopping).toBe(0);
  }));

Deno.test("While the server stops, a request that waits for an earlier response on its connection gets 503", () =>
  withSlowStore(async ({ url, server, headers, reached, open, accessLog }) => {
    using connection = await Connection.to(url);
    await connection.send(toRequest("GET", SLOW, headers) + toRequest("GET", QUICK, headers));
    await reached;
    const stopping = server.stop(LONG);
    open();
    const answered = await connection.response();
    expect([answered.status, answered.headers.get("connection")]).toEqual([200, "keep-alive"]);
    const rejected = await connection.response();
    expect(rejected.status).toBe(503);
    expect([rejected.headers.get("connection"), rejected.headers.get("retry-after")]).toEqual(["close", "1"]);
    expect(JSON.parse(rejected.body).errors[0].extensions.code).toBe("UNREACHABLE");
    expect(await connection.readToEnd()).toBe("");
    expect(await stopping).toBe(0);
    expect(accessLog.map(({ status }) => status)).toEqual([200, 503]);
  }));

Deno.test("Connections that are unused, idle or still sending headers do not delay the stop", () =>
  withHttp(async (server) => {
    const headers = await bearer(server);
    using unused = await Connection.to(server.url);
    using incomplete = await Connection.to(server.url);
    await incomplete.send("GET /graphql HTTP/1.1\r\nHost: a\r\n");
    using answered = await Connection.to(server.url);
    await answered.request("GET", QUICK, headers);
    await answered.response();
    const start = performance.now();
    expect(await server.server.stop(LONG)).toBe(0);
    expect(performance.now() - start).toBeLessThan(LONG / 2);
    const ends = await Promise.all([unused, incomplete, answered].map((connection) => connection.readToEnd()));
    expect(ends).toEqual(["", "", ""]);
    // The short request timeout makes the server check connections often.
  }, { requestTimeout: 200, idleTimeout: LONG, headersTimeout: LONG }));

Deno.test("A request that is still in progress at the deadline gets 503, and stop returns the number of such requests", () =>
  withSlowStore(async ({ url, server, headers, reached, open }) => {
    using connection = await Connection.to(url);
    await connection.request("GET", SLOW, headers);
    await reached;
    expect(await server.stop(50)).toBe(1);
    const { status, body } = await connection.response();
    expect(status).toBe(503);
    expect(JSON.parse(body).errors[0].extensions.code).toBe("TIMEOUT");
    expect(await connection.readToEnd()).toBe("");
    open();
  }));

Deno.test("When the server has stopped, its store is closed", () =>
  withHttp(async ({ server, store }) => {
    await server.stop(LONG);
    await expect(store.isEmpty()).rejects.toThrow();
  }));

Deno.test("If the port is in use, the server fails with a usage error that suggests --port, and logs nothing", () =>
  withHttp(async ({ url }) => {
    const { port } = new URL(url);
    const logged: string[] = [];
    const second = withHttp(() => Promise.resolve(), {
      port: Number(port),
      logError: (message) => void logged.push(message),
    });
    await expect(second).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringMatching(
        new RegExp(`^Cannot listen on 127\\.0\\.0\\.1 port ${port}: .*Choose another --host or --port`),
      ),
    });
    expect(logged).toEqual([]);
  }));
