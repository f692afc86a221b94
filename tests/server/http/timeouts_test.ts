/**
 * Timeouts of connections and requests. If the client no longer waits for the response, a change that the server has not
 * made yet is not made.
 */
import { expect } from "expect";
import { parseName } from "../../../src/apikey/name.ts";
import { keysIn, LOCAL_ORIGIN, namesIn } from "../graphql/graphql.ts";
import { gateBefore } from "../replaced_store.ts";
import { until } from "../until.ts";
import { Connection, toRequest } from "./connection.ts";
import { bearer, pathOf, withHttp } from "./http_server.ts";

const JSON_TYPE = { "Content-Type": "application/json" };
const CREATE = JSON.stringify({
  query: 'mutation { apiKey { create(input: { name: "late", roles: [GUEST] }) { key } } }',
});

/**
 * Timeouts in milliseconds. The tests wait for `SHORT` to pass, and never reach `LONG`. A request ends within `MEDIUM`, even
 * on a busy machine.
 */
const SHORT = 200;
const MEDIUM = 1500;
const LONG = 60_000;

/** Sends one byte at a time on a connection, until the returned object is disposed. */
function drip(connection: Connection): Disposable {
  const timer = setInterval(() => void connection.send("a").catch(() => {}), SHORT / 10);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

Deno.test("If a new connection sends no complete headers, the server closes it after a timeout, even if bytes keep arriving", () =>
  withHttp(async ({ url, accessLog }) => {
    using silent = await Connection.to(url);
    using incomplete = await Connection.to(url);
    using dripping = await Connection.to(url);
    await incomplete.send("POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Ty");
    await dripping.send("GET /graphql HTTP/1.1\r\n");
    using _ = drip(dripping);
    const ends = await Promise.all([silent, incomplete, dripping].map((connection) => connection.readToEnd()));
    expect(ends).toEqual(["", "", ""]);
    expect(accessLog).toEqual([]);
  }, { headersTimeout: SHORT, requestTimeout: LONG, idleTimeout: LONG }));

Deno.test("If a client does not finish sending a body, it gets 408 after --request-timeout and is disconnected", () =>
  withHttp(async (server) => {
    const headers = { ...await bearer(server), ...JSON_TYPE };
    await Promise.all([{ "Content-Length": "100" }, { "Transfer-Encoding": "chunked" }].map(async (framing) => {
      using connection = await Connection.to(server.url);
      await connection.send(toRequest("POST", "/graphql", { ...headers, ...framing }));
      const response = await connection.response();
      expect([response.status, response.headers.get("connection")]).toEqual([408, "close"]);
      expect(JSON.parse(response.body).errors[0].extensions.code).toBe("TIMEOUT");
      expect(await connection.readToEnd()).toBe("");
    }));
    expect(server.accessLog.map(({ status, code }) => [status, code])).toEqual([[408, "TIMEOUT"], [408, "TIMEOUT"]]);
  }, { requestTimeout: SHORT, idleTimeout: LONG }));

Deno.test("If a client does not read the response, it is disconnected after --idle-timeout", () =>
  withHttp(async (server) => {
    const headers = await bearer(server);
    const [key] = await keysIn(server.store);
    if (key === undefined) throw new Error("the store is empty");
    // `create` would reject this description.
    const large = { id: "key_large", name: parseName("large"), secretHash: new Uint8Array(32) };
    await server.store.add({ ...key, ...large, description: "x".repeat(30_000_000) }, LOCAL_ORIGIN, () => {});
    using connection = await Connection.to(server.url);
    await connection.request("GET", pathOf("{ apiKeys { description } }"), headers);
    await until(() => server.accessLog.length === 1);
    await until(() => connection.send("\r\n").then(() => false, () => true));
    expect((await connection.readToEnd()).length).toBeLessThan(30_000_000);
  }, { requestTimeout: LONG, idleTimeout: SHORT }));

Deno.test("If no complete request follows a response within --idle-timeout, the server closes the connection", () =>
  withHttp(async (server) => {
    const headers = await bearer(server);
    using idle = await Connection.to(server.url);
    using dripping = await Connection.to(server.url);
    await Promise.all([idle, dripping].map(async (connection) => {
      await connection.request("GET", pathOf("{ __typename }"), headers);
      expect((await connection.response()).status).toBe(200);
    }));
    await dripping.send("GET / HTTP/1.1\r\nX-Drip: ");
    using _ = drip(dripping);
    expect(await Promise.all([idle.readToEnd(), dripping.readToEnd()])).toEqual(["", ""]);
  }, { headersTimeout: LONG, requestTimeout: LONG, idleTimeout: SHORT }));

Deno.test("While requests arrive within --idle-timeout, the connection stays open for longer than any timeout", () =>
  withHttp(async (server) => {
    const headers = await bearer(server);
    using connection = await Connection.to(server.url);
    const start = performance.now();
    while (performance.now() < start + 2 * MEDIUM) {
      // deno-lint-ignore no-await-in-loop -- one request after the other
      await connection.request("GET", pathOf("{ __typename }"), headers);
      // deno-lint-ignore no-await-in-loop -- one request after the other
      expect((await connection.response()).status).toBe(200);
    }
  }, { headersTimeout: MEDIUM, requestTimeout: MEDIUM, idleTimeout: MEDIUM }));

Deno.test("If a request to create a key takes too long, it gets 503 TIMEOUT and the key is not created later", () => {
  const gate = gateBefore("add");
  return withHttp(async (server) => {
    const headers = { ...await bearer(server), ...JSON_TYPE };
    using connection = await Connection.to(server.url);
    await connection.request("POST", "/graphql", headers, CREATE);
    const response = await connection.response();
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(JSON.parse(response.body).errors).toEqual([
      { message: expect.stringContaining("took too long"), extensions: { code: "TIMEOUT", mayHaveExecuted: true } },
    ]);
    expect(await connection.readToEnd()).toBe("");
    gate.open();
    await until(() => gate.outcomes.length === 1);
    expect(gate.outcomes).toEqual([expect.objectContaining({ code: "INTERRUPTED" })]);
    expect(await namesIn(server.store)).toEqual(["admin"]);
    expect((await server.store.listEvents(undefined, 10)).map(({ keyName }) => keyName)).toEqual(["admin"]);
    expect(server.accessLog).toEqual([expect.objectContaining({ status: 503, code: "TIMEOUT" })]);
  }, { requestTimeout: SHORT, idleTimeout: LONG, wrap: gate.wrap });
});

Deno.test("If a request to delete a key takes too long, it gets 503 and the key is not deleted later", () => {
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
    expect(await namesIn(server.store)).toEqual(["admin", "kept"]);
  }, { requestTimeout: SHORT, idleTimeout: LONG, wrap: gate.wrap });
});

Deno.test("If the client disconnects before a key is created, the key is not created", () => {
  const gate = gateBefore("add");
  return withHttp(async (server) => {
    const headers = { ...await bearer(server), ...JSON_TYPE };
    {
      using connection = await Connection.to(server.url);
      await connection.request("POST", "/graphql", headers, CREATE);
      await gate.reached;
    }
    // The response to this request shows that the server has seen the disconnection.
    using other = await Connection.to(server.url);
    await other.request("GET", pathOf("{ __typename }"), headers);
    await other.response();
    gate.open();
    await until(() => gate.outcomes.length === 1);
    expect(await namesIn(server.store)).toEqual(["admin"]);
  }, { wrap: gate.wrap });
});

Deno.test("If a key is deleted while the body of a request with that key arrives slowly, the request gets 401", () =>
  withHttp(async (server) => {
    const headers = { ...await bearer(server), ...JSON_TYPE, "Content-Length": String(CREATE.length) };
    const [{ id = "" } = {}] = await keysIn(server.store);
    using connection = await Connection.to(server.url);
    await connection.request("POST", "/graphql", headers);
    await connection.send(CREATE.slice(0, 10));
    // The response to this request shows that the server has authenticated the first request.
    using other = await Connection.to(server.url);
    await other.request("GET", "/healthz");
    await other.response();
    await server.store.remove([id], LOCAL_ORIGIN, () => {});
    await connection.send(CREATE.slice(10));
    expect((await connection.response()).status).toBe(401);
    expect(await keysIn(server.store)).toEqual([]);
  }));
