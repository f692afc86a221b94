/** A server that is told to stop: what is in flight is answered, and nothing new is begun. */
import { expect } from "expect";
import type { KeyStore } from "../../../src/store/key_store.ts";
import { Connection, toRequest } from "./connection.ts";
import { type HttpTest, withHttp } from "./http_server.ts";
import { until } from "../until.ts";

interface Draining extends HttpTest {
  readonly headers: Readonly<Record<string, string>>;
  /** Resolves when a request for {@linkcode SLOW} is being executed. */
  readonly reached: Promise<void>;
  /** Lets it finish. */
  readonly open: () => void;
}

const SLOW = "/graphql?query={apiKeysExist}";
const QUICK = "/graphql?query={__typename}";
const PATIENCE = 20_000;

function withSlowStore(test: (server: Draining) => Promise<void>): Promise<void> {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const slowly = async (): Promise<boolean> => {
    reached.resolve();
    await opened.promise;
    return false;
  };
  return withHttp(async (server) => {
    const { key } = await server.create({ name: "admin", roles: ["ADMIN"] });
    await test({
      ...server,
      headers: { Authorization: `Bearer ${key}` },
      reached: reached.promise,
      open: () => opened.resolve(),
    });
  }, {
    wrap: (store) =>
      new Proxy<KeyStore>(store, {
        get: (target, name: keyof KeyStore) => name === "isEmpty" ? slowly : target[name].bind(target),
      }),
  });
}

/** Whether nobody listens there. */
async function isRefused(url: string): Promise<boolean> {
  try {
    (await Connection.to(url))[Symbol.dispose]();
    return false;
  } catch (error) {
    return error instanceof Deno.errors.ConnectionRefused;
  }
}

Deno.test("a request in flight is answered, while new connections are refused", () =>
  withSlowStore(async ({ url, server, headers, reached, open }) => {
    using connection = await Connection.to(url);
    await connection.request("GET", SLOW, headers);
    await reached;
    const stopping = server.stop(PATIENCE);
    await until(() => isRefused(url));
    open();
    expect(await connection.response()).toMatchObject({ status: 200, body: '{"data":{"apiKeysExist":true}}' });
    expect(await stopping).toBe(0);
    expect(await connection.end()).toBe("");
  }));

Deno.test("a body that is on its way is waited for, and its request answered", () =>
  withSlowStore(async ({ url, server, headers, accesses }) => {
    using connection = await Connection.to(url);
    const body = JSON.stringify({ query: "{ me { name } }" });
    const request = toRequest("POST", "/graphql", { ...headers, "Content-Type": "application/json" }, body);
    await connection.send(request.slice(0, -5));
    using other = await Connection.to(url);
    await other.request("GET", QUICK, headers);
    await other.response();
    const stopping = server.stop(PATIENCE);
    await until(() => isRefused(url));
    await connection.send(request.slice(-5));
    expect(await connection.response()).toMatchObject({ status: 200, body: '{"data":{"me":{"name":"admin"}}}' });
    expect(await stopping).toBe(0);
    expect(accesses.map(({ status }) => status)).toEqual([200, 200]);
  }));

Deno.test("a request that comes on an open connection is refused with 503, and the connection ended", () =>
  withSlowStore(async ({ url, server, headers, reached, open, accesses }) => {
    using connection = await Connection.to(url);
    await connection.request("GET", SLOW, headers);
    await reached;
    const stopping = server.stop(PATIENCE);
    await connection.request("GET", QUICK, headers);
    await until(() => accesses.length === 1);
    open();
    expect((await connection.response()).status).toBe(200);
    const refusal = await connection.response();
    expect(refusal.status).toBe(503);
    expect([refusal.headers.get("connection"), refusal.headers.get("retry-after")]).toEqual(["close", "1"]);
    expect(JSON.parse(refusal.body).errors[0].extensions.code).toBe("UNREACHABLE");
    expect(await connection.end()).toBe("");
    expect(await stopping).toBe(0);
    expect(accesses.map(({ status }) => status)).toEqual([503, 200]);
  }));

for (
  const [what, begin] of [
    ["after an answer", async (connection: Connection, headers: Readonly<Record<string, string>>) => {
      await connection.request("GET", QUICK, headers);
      await connection.response();
    }],
    ["before their first request", () => Promise.resolve()],
    [
      "in the middle of the headers of their first request",
      (connection: Connection) => connection.send("GET /graphql HTTP/1.1\r\nHost: a\r\n"),
    ],
  ] as const
) {
  Deno.test(`clients that idle ${what} do not hold the server up`, () =>
    withSlowStore(async ({ url, server, headers }) => {
      using connection = await Connection.to(url);
      await begin(connection, headers);
      using other = await Connection.to(url);
      await other.request("GET", QUICK, headers);
      await other.response();
      const start = performance.now();
      expect(await server.stop(PATIENCE)).toBe(0);
      expect(performance.now() - start).toBeLessThan(3000);
      expect(await connection.end()).toBe("");
    }));
}

Deno.test("a server that nobody asks anything stops at once", () =>
  withSlowStore(async ({ server }) => {
    const start = performance.now();
    expect(await server.stop(PATIENCE)).toBe(0);
    expect(performance.now() - start).toBeLessThan(3000);
  }));

Deno.test("what is still in flight when the patience is over is told so, cut off and counted", () =>
  withSlowStore(async ({ url, server, headers, reached, open }) => {
    using connection = await Connection.to(url);
    await connection.request("GET", SLOW, headers);
    await reached;
    expect(await server.stop(50)).toBe(1);
    const { status, body } = await connection.response();
    expect(status).toBe(503);
    expect(JSON.parse(body).errors[0].extensions.code).toBe("TIMEOUT");
    expect(await connection.end()).toBe("");
    open();
  }));

Deno.test("a server that is stopped has closed its store", () =>
  withSlowStore(async ({ server, store }) => {
    await server.stop(PATIENCE);
    await expect(store.isEmpty()).rejects.toThrow();
  }));

Deno.test("a port that is taken is a usage error that says what to do, and nothing is logged besides", () =>
  withSlowStore(async ({ url }) => {
    const { port } = new URL(url);
    const logged: string[] = [];
    const taken = withHttp(() => Promise.resolve(), {
      port: Number(port),
      logError: (message) => {
        logged.push(message);
      },
    });
    await expect(taken).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringMatching(
        new RegExp(`^Cannot listen on 127\\.0\\.0\\.1 port ${port}: .*Choose another --host or --port`),
      ),
    });
    expect(logged).toEqual([]);
  }));
