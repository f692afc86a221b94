/** Clients that send requests without waiting for the responses, and limits on open connections. */
import { EventEmitter } from "node:events";
import { expect } from "expect";
import { limitConnections } from "../../../src/server/http/connection_limits.ts";
import { gateBefore } from "../replaced_store.ts";
import { until } from "../until.ts";
import { Connection, toRequest } from "./connection.ts";
import { bearer, pathOf, withHttp } from "./http_server.ts";

const PROBE = toRequest("GET", "/healthz");

Deno.test("Requests that arrive before the response to an earlier request are answered after it, in order", () => {
  const gate = gateBefore("isEmpty");
  return withHttp(async (server) => {
    const headers = await bearer(server);
    using connection = await Connection.to(server.url);
    await connection.send(toRequest("GET", pathOf("{ apiKeysExist }"), headers));
    await gate.reached;
    const sending = connection.send(PROBE.repeat(5000) + toRequest("GET", "/nowhere"));
    // The response to this request shows that the server has read the other requests.
    using other = await Connection.to(server.url);
    await other.send(PROBE);
    await other.response();
    expect(server.accessLog).toHaveLength(1);
    gate.open();
    expect((await connection.response()).body).toBe('{"data":{"apiKeysExist":true}}');
    for (let i = 0; i < 5000; i++) {
      // deno-lint-ignore no-await-in-loop -- one response after the other
      expect((await connection.response()).status).toBe(200);
    }
    expect((await connection.response()).status).toBe(404);
    await sending;
  }, { wrap: gate.wrap });
});

Deno.test("Bodies of requests that wait are read completely", () =>
  withHttp(async (server) => {
    const headers = { ...await bearer(server), "Content-Type": "application/json" };
    using connection = await Connection.to(server.url);
    const body = (i: number): string => JSON.stringify({ query: `{ a${i}: __typename }` }).padEnd(100_000);
    const requests = Array.from({ length: 20 }, (_, i) => toRequest("POST", "/graphql", headers, body(i)));
    const sending = connection.send(requests.join(""));
    for (let i = 0; i < 20; i++) {
      // deno-lint-ignore no-await-in-loop -- one response after the other
      expect((await connection.response()).body).toBe(`{"data":{"a${i}":"Query"}}`);
    }
    await sending;
  }));

Deno.test("If a client does not read the responses, the server stops reading requests, and serves other clients", () =>
  withHttp(async (server) => {
    const headers = await bearer(server);
    const introspection = pathOf("{ __schema { types { name description fields { name description } } } }");
    const requests = toRequest("GET", introspection, headers).repeat(1000);
    const connection = await Connection.to(server.url);
    let sent = 0;
    const sendForever = (): Promise<void> =>
      connection.send(requests).then(() => {
        sent++;
        return sendForever();
      });
    const sending = sendForever().catch(() => {});
    const answered = (): number => server.accessLog.length;
    let before = -1;
    await until(async () => {
      // The responses to these requests show that the server had time to handle further requests.
      for (let i = 0; i < 20; i++) {
        // deno-lint-ignore no-await-in-loop -- one request after the other
        using other = await Connection.to(server.url);
        // deno-lint-ignore no-await-in-loop -- one request after the other
        await other.send(PROBE);
        // deno-lint-ignore no-await-in-loop -- one request after the other
        expect((await other.response()).status).toBe(200);
      }
      const others = server.accessLog.filter(({ path }) => path === "/healthz").length;
      const isStalled = before === answered() - others;
      before = answered() - others;
      return isStalled;
    });
    // The operating system can hold some megabytes of requests and of responses.
    expect(before).toBeLessThan(5000);
    expect(sent * requests.length).toBeLessThan(100_000_000);
    // On Deno 2.7, closing a connection does not end a write that waits.
    await server.server.stop(0);
    await sending;
    connection[Symbol.dispose]();
    // Lets the server notice, because Deno 2.7 reports its timers as leaks.
    await new Promise((resolve) => setTimeout(resolve, 10));
  }));

Deno.test("Further connections from one address than --max-per-address are closed at once, until others end", () =>
  withHttp(async ({ url, errorLog }) => {
    using first = await Connection.to(url);
    const second = await Connection.to(url);
    for (const connection of [first, second]) {
      // deno-lint-ignore no-await-in-loop -- only two connections
      await connection.send(PROBE);
      // deno-lint-ignore no-await-in-loop -- only two connections
      expect((await connection.response()).status).toBe(200);
    }
    using third = await Connection.to(url);
    expect(await third.readToEnd()).toBe("");
    using fourth = await Connection.to(url);
    expect(await fourth.readToEnd()).toBe("");
    expect(errorLog.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^Closed a connection: .*--max-per/),
    ]);
    second[Symbol.dispose]();
    await until(async () => {
      using next = await Connection.to(url);
      await next.send(PROBE).catch(() => {});
      return await next.response().then(({ status }) => status === 200, () => false);
    });
  }, { maxPerAddress: 2 }));

Deno.test("The limit for one address does not apply to trusted proxies, but --max-connections does", () =>
  withHttp(async ({ url }) => {
    const connections: Connection[] = [];
    try {
      for (let i = 0; i < 4; i++) {
        // deno-lint-ignore no-await-in-loop -- the order matters
        const connection = await Connection.to(url);
        connections.push(connection);
        // deno-lint-ignore no-await-in-loop -- the order matters
        await connection.send(PROBE).catch(() => {});
        // deno-lint-ignore no-await-in-loop -- the order matters
        const status = await connection.response().then((response) => response.status, () => "closed");
        expect(status).toBe(i < 3 ? 200 : "closed");
      }
    } finally {
      for (const connection of connections) connection[Symbol.dispose]();
    }
  }, { maxPerAddress: 1, maxConnections: 3, trustedProxies: ["127.0.0.1"] }));

Deno.test("Rejected connections are logged at most once a minute", () => {
  let time = 0;
  const logged: string[] = [];
  const admit = limitConnections({
    clientAddress: (address) => address,
    isProxy: () => false,
    maxConnections: 1,
    maxPerAddress: 1,
    logError: (message) => void logged.push(message),
  }, () => time);
  const connect = (): void => admit(Object.assign(new EventEmitter(), { remoteAddress: "::1", destroy: () => {} }));
  for (let i = 0; i < 10; i++) connect();
  expect(logged).toHaveLength(1);
  time = 60_000;
  connect();
  expect(logged).toHaveLength(2);
});
