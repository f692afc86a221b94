/** The embedded server on HTTP, on the loopback interface. */
import { expect } from "expect";
import { type HttpServer, listen } from "../../src/server/listen.ts";
import { failureOf } from "../apikey/failure_of.ts";
import { LIST, type TestServer, withServer } from "./graphql.ts";

/** What a server told its access log. */
type AccessLog = Record<string, unknown>[];

function withHttpServer(
  test: (http: HttpServer, log: AccessLog, server: TestServer) => void | Promise<void>,
): Promise<void> {
  return withServer(async (server) => {
    const log: AccessLog = [];
    const http = listen({
      hostname: "127.0.0.1",
      port: 0,
      handler: server.network,
      logAccess: (_message, properties) => {
        log.push(properties);
      },
    });
    try {
      await test(http, log, server);
    } finally {
      await http.stop();
    }
  });
}

function post(url: string, secret: string): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ query: LIST }),
  });
}

Deno.test("Port 0 takes a free port, and GraphQL is answered at the address that is told", () =>
  withHttpServer(async ({ url }, _log, { create }) => {
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*\/graphql$/);
    const { key, id } = await create({ name: "admin", roles: ["ADMIN"] });
    const response = await post(url, key);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(id);
  }));

Deno.test("Anything but /graphql is answered with 404, saying where GraphQL is", () =>
  withHttpServer(async ({ url }) => {
    const paths = ["/", "/graphql/", "/graphql/x", "/GraphQL"];
    const answers = await Promise.all(paths.map(async (path) => {
      const response = await fetch(new URL(path, url));
      return [response.status, await response.text()];
    }));
    for (const [status, text] of answers) {
      expect(status).toBe(404);
      expect(text).toContain("/graphql");
    }
  }));

Deno.test("Every request is told to the access log, without its key and its query string", () =>
  withHttpServer(async ({ url }, log, { create }) => {
    const { key } = await create({ name: "admin", roles: ["ADMIN"] });
    await (await post(url, key)).text();
    await (await fetch(`${url}?query={apiKeysExist}`)).text();
    expect(log.map(({ method, pathname, status }) => [method, pathname, status])).toEqual([
      ["POST", "/graphql", 200],
      ["GET", "/graphql", 401],
    ]);
    expect(JSON.stringify(log)).not.toContain("sak_");
    expect(JSON.stringify(log)).not.toContain("apiKeysExist");
  }));

Deno.test("A port that is taken is refused as USAGE, with what to change", () =>
  withHttpServer(({ url }, _log, { network }) => {
    const port = Number(new URL(url).port);
    const { code, message } = failureOf(() =>
      listen({ hostname: "127.0.0.1", port, handler: network, logAccess: () => {} })
    );
    expect(code).toBe("USAGE");
    expect(message).toContain(String(port));
    expect(message).toContain("--port");
  }));
