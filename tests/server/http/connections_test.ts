/** Clients on real sockets: slow ones, idle ones, ones that do not speak HTTP, and several requests at once. */
import { expect } from "expect";
import type { KeyStore } from "../../../src/store/key_store.ts";
import { Connection, toRequest } from "./connection.ts";
import { keysIn } from "../graphql/graphql.ts";
import { type HttpTest, withHttp } from "./http_server.ts";
import { until } from "../until.ts";

const JSON_TYPE = { "Content-Type": "application/json" };
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A limit that a client of a test reaches, and one that it does not, in milliseconds. */
const SHORT = 200;
const LONG = 60_000;

async function bearer({ create }: Pick<HttpTest, "create">): Promise<Readonly<Record<string, string>>> {
  const { key } = await create({ name: "admin", roles: ["ADMIN"] });
  return { Authorization: `Bearer ${key}` };
}

/** What is asked for in the query of a URL. */
function pathOf(query: string): string {
  return `/graphql?query=${encodeURIComponent(query)}`;
}

/** A store of which one method waits before it does anything, from the first call that comes after `close`. */
interface Gate {
  readonly wrap: (store: KeyStore) => KeyStore;
  /** Resolves when somebody waits. */
  readonly reached: Promise<void>;
  readonly open: () => void;
  /** What came of the calls. */
  readonly outcomes: unknown[];
}

function gateBefore(method: "add" | "isEmpty" | "remove"): Gate {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const outcomes: unknown[] = [];
  return {
    reached: reached.promise,
    open: opened.resolve,
    outcomes,
    wrap: (store) =>
      new Proxy<KeyStore>(store, {
        get: (target, name: keyof KeyStore) => {
          if (name !== method) return target[name].bind(target);
          return async (...given: unknown[]): Promise<unknown> => {
            reached.resolve();
            await opened.promise;
            try {
              const result: unknown = await Reflect.apply(target[name], target, given);
              outcomes.push(result);
              return result;
            } catch (error) {
              outcomes.push(error);
              throw error;
            }
          };
        },
      }),
  };
}

Deno.test("a client that sends nothing, half of its headers, or a byte of them now and then is cut off after 10 s", () =>
  withHttp(async ({ url, accesses }) => {
    using silent = await Connection.to(url);
    using slow = await Connection.to(url);
    using dripping = await Connection.to(url);
    await slow.send("POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Ty");
    await dripping.send("GET /graphql HTTP/1.1\r\n");
    const drip = setInterval(() => void dripping.send("a").catch(() => {}), 100);
    const start = performance.now();
    try {
      await Promise.all([silent.end(), slow.end(), dripping.end()]);
    } finally {
      clearInterval(drip);
    }
    const seconds = (performance.now() - start) / 1000;
    expect(seconds).toBeGreaterThan(9);
    expect(seconds).toBeLessThan(30);
    expect(accesses).toEqual([]);
  }, { requestTimeout: LONG, idleTimeout: LONG }));

Deno.test("a client that sends half of a body gets 408 after --request-timeout, and is cut off", () =>
  withHttp(async (server) => {
    const headers = { ...await bearer(server), ...JSON_TYPE };
    for (const framing of [{ "Content-Length": "100" }, { "Transfer-Encoding": "chunked" }]) {
      // deno-lint-ignore no-await-in-loop -- two of them
      using connection = await Connection.to(server.url);
      // deno-lint-ignore no-await-in-loop -- two of them
      await connection.send(`${toRequest("POST", "/graphql", { ...headers, ...framing })}`);
      // deno-lint-ignore no-await-in-loop -- two of them
      const { status, headers: answered, body } = await connection.response();
      expect(status).toBe(408);
      expect(answered.get("connection")).toBe("close");
      expect(JSON.parse(body).errors[0].extensions.code).toBe("TIMEOUT");
      // deno-lint-ignore no-await-in-loop -- two of them
      expect(await connection.end()).toBe("");
    }
    expect(server.accesses.map(({ status, code }) => [status, code])).toEqual([[408, "TIMEOUT"], [408, "TIMEOUT"]]);
  }, { requestTimeout: SHORT, idleTimeout: LONG }));

Deno.test("a client that does not read is cut off after --idle-timeout", () =>
  withHttp(async (server) => {
    const headers = await bearer(server);
    await server.create({ name: "large", roles: ["GUEST"], description: "x".repeat(30_000_000) });
    using connection = await Connection.to(server.url);
    await connection.request("GET", pathOf("{ apiKeys { description } }"), headers);
    await until(() => server.accesses.length === 1);
    await until(() => connection.send("\r\n").then(() => false, () => true));
    expect((await connection.end()).length).toBeLessThan(30_000_000);
  }, { requestTimeout: LONG, idleTimeout: SHORT }));

Deno.test("a client that idles after an answer is cut off after --idle-timeout, also in the middle of headers", () =>
  withHttp(async (server) => {
    const headers = await bearer(server);
    using idle = await Connection.to(server.url);
    using slow = await Connection.to(server.url);
    for (const connection of [idle, slow]) {
      // deno-lint-ignore no-await-in-loop -- two of them
      await connection.request("GET", pathOf("{ __typename }"), headers);
      // deno-lint-ignore no-await-in-loop -- two of them
      expect((await connection.response()).status).toBe(200);
    }
    const start = performance.now();
    await slow.send("GET / HTTP/1.1\r\nX-Drip: ");
    const drip = setInterval(() => void slow.send("a").catch(() => {}), SHORT / 10);
    try {
      expect(await Promise.all([idle.end(), slow.end()])).toEqual(["", ""]);
    } finally {
      clearInterval(drip);
    }
    expect(performance.now() - start).toBeLessThan(8000);
  }, { requestTimeout: LONG, idleTimeout: SHORT }));

Deno.test("a client that takes its time between requests, but less than --idle-timeout, keeps its connection", () =>
  withHttp(async (server) => {
    const headers = await bearer(server);
    using connection = await Connection.to(server.url);
    const start = performance.now();
    while (performance.now() < start + 3 * SHORT) {
      // deno-lint-ignore no-await-in-loop -- one after the other
      await connection.request("GET", pathOf("{ __typename }"), headers);
      // deno-lint-ignore no-await-in-loop -- one after the other
      expect((await connection.response()).status).toBe(200);
    }
  }, { requestTimeout: SHORT, idleTimeout: SHORT }));

Deno.test("a request that takes too long gets 503 TIMEOUT, and what it was to create is not created after all", () => {
  const gate = gateBefore("add");
  return withHttp(async (server) => {
    const headers = { ...await bearer(server), ...JSON_TYPE };
    using connection = await Connection.to(server.url);
    const query = 'mutation { apiKey { create(input: { name: "late", roles: [GUEST] }) { key } } }';
    await connection.request("POST", "/graphql", headers, JSON.stringify({ query }));
    const { status, headers: answered, body } = await connection.response();
    expect({ status, retryAfter: answered.get("retry-after") }).toEqual({ status: 503, retryAfter: "1" });
    expect(answered.get("content-type")).toBe("application/json; charset=utf-8");
    expect(JSON.parse(body).errors).toEqual([
      { message: expect.stringContaining("took too long"), extensions: { code: "TIMEOUT" } },
    ]);
    expect(await connection.end()).toBe("");
    gate.open();
    await until(() => gate.outcomes.length === 1);
    expect(gate.outcomes).toEqual([expect.objectContaining({ code: "INTERRUPTED" })]);
    expect((await keysIn(server.store)).map(({ name }) => name)).toEqual(["admin"]);
    expect((await server.store.listEvents(undefined, 10)).map(({ keyName }) => keyName)).toEqual(["admin"]);
    expect(server.accesses).toEqual([expect.objectContaining({ status: 503, code: "TIMEOUT" })]);
  }, { requestTimeout: SHORT, idleTimeout: LONG, wrap: gate.wrap });
});

Deno.test("what a request was to delete that took too long is not deleted after all", () => {
  const gate = gateBefore("remove");
  return withHttp(async (server) => {
    const headers = { ...await bearer(server), ...JSON_TYPE };
    const { id } = await server.create({ name: "kept", roles: ["GUEST"] });
    using connection = await Connection.to(server.url);
    const query = `mutation { apiKey { delete(input: { ids: ["${id}"] }) } }`;
    await connection.request("POST", "/graphql", headers, JSON.stringify({ query }));
    expect((await connection.response()).status).toBe(503);
    gate.open();
    await until(() => gate.outcomes.length === 1);
    expect((await keysIn(server.store)).map(({ name }) => name)).toEqual(["admin", "kept"]);
  }, { requestTimeout: SHORT, idleTimeout: LONG, wrap: gate.wrap });
});

Deno.test("nothing is done for a client that has left before it was its turn", () => {
  const gate = gateBefore("add");
  return withHttp(async (server) => {
    const headers = { ...await bearer(server), ...JSON_TYPE };
    const query = 'mutation { apiKey { create(input: { name: "late", roles: [GUEST] }) { key } } }';
    {
      using connection = await Connection.to(server.url);
      await connection.request("POST", "/graphql", headers, JSON.stringify({ query }));
      await gate.reached;
    }
    using other = await Connection.to(server.url);
    await other.request("GET", pathOf("{ __typename }"), headers);
    await other.response();
    gate.open();
    await until(() => gate.outcomes.length === 1);
    expect((await keysIn(server.store)).map(({ name }) => name)).toEqual(["admin"]);
  }, { wrap: gate.wrap });
});

for (
  const [what, request] of [
    ["words", "what do you have to offer?\r\n\r\n"],
    ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"],
    ["a method that there is none of", "FETCH /graphql HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["a header without a colon", "GET /graphql HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n"],
    ["a header with U+0000", "GET /graphql HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\n\r\n"],
    ["a path that would move the cursor of whoever reads the log", "GET /\x1b[2J HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["a path that is not ASCII", "GET /\u202e HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["no host", "GET /graphql HTTP/1.1\r\n\r\n"],
    ["two lengths", "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"],
    ["a negative length", "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Length: -2\r\n\r\n{}"],
    [
      "a length and chunks",
      "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
  ] as const
) {
  Deno.test(`a client that sends ${what} gets 400 and is cut off`, () =>
    withHttp(async ({ url }) => {
      using connection = await Connection.to(url);
      await connection.send(request);
      const text = await connection.end();
      expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nconnection: close\r\n/i);
      expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    }));
}

Deno.test("chunks that are none get 400, and nothing of them is taken for another request", () =>
  withHttp(async (server) => {
    const headers = { ...await bearer(server), ...JSON_TYPE, "Transfer-Encoding": "chunked" };
    using connection = await Connection.to(server.url);
    await connection.send(`${toRequest("POST", "/graphql", headers)}zz\r\n${toRequest("GET", "/healthz")}`);
    const text = await connection.end();
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  }));

Deno.test("40 KB of headers get 431, and 8 KB are taken", () =>
  withHttp(async (server) => {
    const headers = await bearer(server);
    const ask = async (length: number): Promise<number> => {
      using connection = await Connection.to(server.url);
      await connection.request("GET", pathOf("{ __typename }"), { ...headers, "X-Long": "x".repeat(length) });
      return (await connection.response()).status;
    };
    expect(await ask(40_000)).toBe(431);
    expect(await ask(8000)).toBe(200);
  }));

Deno.test("requests that are sent at once are answered in their order, the slow ones first too", () => {
  const gate = gateBefore("isEmpty");
  return withHttp(async (server) => {
    const headers = await bearer(server);
    using connection = await Connection.to(server.url);
    const queries = ["{ slow: apiKeysExist }", "{ me { name } }", "{ nonsense }", "{ __typename }"];
    await connection.send(queries.map((query) => toRequest("GET", pathOf(query), headers)).join(""));
    await gate.reached;
    gate.open();
    const bodies: unknown[] = [];
    for (const _ of queries) {
      // deno-lint-ignore no-await-in-loop -- one after the other
      bodies.push(JSON.parse((await connection.response()).body));
    }
    expect(bodies).toEqual([
      { data: { slow: true } },
      { data: { me: { name: "admin" } } },
      { errors: [expect.objectContaining({ extensions: { code: "USAGE" } })] },
      { data: { __typename: "Query" } },
    ]);
  }, { wrap: gate.wrap });
});

Deno.test("many connections at once are answered, each with its own answer", () =>
  withHttp(async (server) => {
    const headers = await bearer(server);
    const answers = await Promise.all(Array.from({ length: 200 }, async (_, i) => {
      using connection = await Connection.to(server.url);
      await connection.request("GET", pathOf(`{ a${i}: __typename }`), headers);
      return (await connection.response()).body;
    }));
    expect(answers).toEqual(answers.map((_, i) => `{"data":{"a${i}":"Query"}}`));
  }));

Deno.test("a client that waits for leave to send its body is given it", () =>
  withHttp(async (server) => {
    const headers = { ...await bearer(server), ...JSON_TYPE, "Content-Length": "26", Expect: "100-continue" };
    using connection = await Connection.to(server.url);
    await connection.request("POST", "/graphql", headers);
    expect((await connection.response("HEAD")).status).toBe(100);
    await connection.send('{"query":"{ __typename }"}');
    expect(await connection.response()).toMatchObject({ status: 200, body: '{"data":{"__typename":"Query"}}' });
  }));

Deno.test("HTTP/1.0 is answered, and the connection ended", () =>
  withHttp(async (server) => {
    const { Authorization } = await bearer(server);
    using connection = await Connection.to(server.url);
    await connection.send(`GET ${pathOf("{ __typename }")} HTTP/1.0\r\nAuthorization: ${Authorization}\r\n\r\n`);
    const text = await connection.end();
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(text).toContain('{"data":{"__typename":"Query"}}');
  }));

for (
  const id of ["a", "4f1c9a52-7d1e-4c7e-9a6b-0d9d8a6f1b11", "Root=1-67891233-abcdef012345678912345678", "x".repeat(128)]
) {
  Deno.test(`the request id ${id.slice(0, 40)} comes back`, () =>
    withHttp(async ({ url, accesses }) => {
      using connection = await Connection.to(url);
      await connection.request("GET", "/graphql", { "X-Request-Id": id });
      expect((await connection.response()).headers.get("x-request-id")).toBe(id);
      expect(accesses.map(({ requestId }) => requestId)).toEqual([id]);
    }));
}

for (const id of ["", "two words", "x".repeat(129), '"quoted"', "\x1b[2J", "{}", "<b>", "é", `sak_${"a".repeat(49)}`]) {
  Deno.test(`in place of the request id ${JSON.stringify(id.slice(0, 40))} comes one of the server's`, () =>
    withHttp(async ({ url }) => {
      using connection = await Connection.to(url);
      await connection.request("GET", "/graphql", { "X-Request-Id": id });
      const { status, headers } = await connection.response();
      // Some are no headers at all.
      if (status !== 400) expect(headers.get("x-request-id")).toMatch(UUID);
    }));
}

Deno.test("every response has a request id, each another", () =>
  withHttp(async ({ url, accesses }) => {
    using connection = await Connection.to(url);
    const ids: string[] = [];
    for (
      const [method, path] of [
        ["GET", "/graphql"],
        ["OPTIONS", "/graphql"],
        ["PUT", "/graphql"],
        ["HEAD", "/graphql"],
        ["GET", "/healthz"],
        ["GET", "/elsewhere"],
      ] as const
    ) {
      // deno-lint-ignore no-await-in-loop -- one after the other
      await connection.request(method, path);
      // deno-lint-ignore no-await-in-loop -- one after the other
      ids.push((await connection.response(method)).headers.get("x-request-id") ?? "none");
    }
    for (const id of ids) expect(id).toMatch(UUID);
    expect(new Set(ids).size).toBe(ids.length);
    expect(accesses.map(({ requestId }) => requestId)).toEqual(ids);
  }));

Deno.test("a key that is deleted while the body of its request is still to come does nothing any more", () =>
  withHttp(async (server) => {
    const headers = { ...await bearer(server), ...JSON_TYPE };
    const [{ id = "" } = {}] = await keysIn(server.store);
    const body = JSON.stringify({
      query: 'mutation { apiKey { create(input: { name: "a", roles: [GUEST] }) { id } } }',
    });
    using connection = await Connection.to(server.url);
    await connection.request("POST", "/graphql", { ...headers, "Content-Length": String(body.length) });
    await connection.send(body.slice(0, 10));
    // The headers are looked at when this is answered.
    using other = await Connection.to(server.url);
    await other.request("GET", "/healthz");
    await other.response();
    const start = performance.now();
    await server.store.remove([id], { at: new Date(), actor: null, address: null, requestId: null }, () => {});
    await until(() => performance.now() - start > 100);
    await connection.send(body.slice(10));
    expect((await connection.response()).status).toBe(401);
    expect(await keysIn(server.store)).toEqual([]);
  }));

Deno.test("a whole URL as the target is as good as its path", () =>
  withHttp(async ({ url }) => {
    using connection = await Connection.to(url);
    await connection.request("GET", "http://somewhere.example/healthz");
    expect((await connection.response()).status).toBe(200);
  }));

Deno.test("a client that wants another protocol is told to leave it", () =>
  withHttp(async ({ url }) => {
    using connection = await Connection.to(url);
    await connection.request("GET", "/healthz", { Connection: "Upgrade, HTTP2-Settings", Upgrade: "h2c" });
    const { status, body } = await connection.response();
    expect({ status, body }).toEqual({ status: 400, body: expect.stringContaining("Upgrade") });
  }));
