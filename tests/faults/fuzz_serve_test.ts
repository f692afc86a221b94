/** Random bytes, requests, JSON bodies and GraphQL documents for `serve`. */
import { expect } from "expect";
import fc from "fast-check";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { createAdmin } from "./clients.ts";
import { record } from "./form.ts";
import { holdsForAll, hostileText } from "./fuzz.ts";
import { serve, type Server, testOnExecutable } from "./process.ts";

/** The longest time for a response, in milliseconds, and the largest resident memory of the server, in megabytes. */
const MAX_TIME = 5_000;
const MAX_MEMORY = 250;

const encoder = new TextEncoder();

function headers(): fc.Arbitrary<readonly string[]> {
  const known = `Host: a|Host: b|Host:|Connection: close|Connection: upgrade|Upgrade: websocket|Expect: 100-continue
|Expect: x|Content-Length: 0|Content-Length: 5|Content-Length: -1|Content-Length: 1e9|Content-Length: 99999999999
|Transfer-Encoding: chunked|Transfer-Encoding: gzip|Accept: */*|Accept:|Content-Type: application/json
|Content-Type: text/plain|Content-Encoding: gzip|Authorization: Bearer|Authorization: Bearer sak_1|Authorization: Basic x
|X-Request-Id: \0|X-Forwarded-For: 1,2| folded`.split(/\n?\|/);
  return fc.array(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...known) }, hostileText()), { maxLength: 8 });
}

/** One or more requests on one connection, mostly in the form of HTTP/1.1. */
function requests(): fc.Arbitrary<Uint8Array> {
  const method = fc.constantFrom(
    "GET",
    "POST",
    "HEAD",
    "PUT",
    "OPTIONS",
    "CONNECT",
    "TRACE",
    "PRI",
    "get",
    "",
    "P OST",
  );
  const path = fc.oneof(
    fc.constantFrom(
      "/graphql",
      "/healthz",
      "/readyz",
      "/",
      "*",
      "http://a/graphql",
      "/graphql?query={a}",
      "//",
      "/%00",
    ),
    hostileText(),
  );
  const version = fc.constantFrom("HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.9", "", "http/1.1");
  const body = fc.oneof(
    fc.constantFrom("", "0\r\n\r\n", "5\r\nabcde\r\n0\r\n\r\n", "zz\r\n", '{"query":"{a}"}'),
    hostileText(),
  );
  const line = fc.constantFrom("\r\n", "\r\n", "\r\n", "\n", "\r");
  const request = fc.tuple(method, path, version, headers(), body, line).map((
    [method, path, version, lines, body, end],
  ) => [`${method} ${path} ${version}`, ...lines, "", body].join(end));
  return fc.oneof(
    {
      weight: 6,
      arbitrary: fc.array(request, { minLength: 1, maxLength: 3 }).map((all) => encoder.encode(all.join(""))),
    },
    fc.uint8Array({ maxLength: 200 }),
  );
}

/**
 * Sends bytes, and reads until the server closes the connection.
 *
 * @param ends whether to end the client's half of the connection; a server on some versions of Deno then sends no response
 */
async function exchange(url: string, bytes: Uint8Array, ends: boolean): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(url).port) });
  const timer = setTimeout(() => connection.close(), MAX_TIME);
  let text = "";
  try {
    await connection.write(bytes);
    if (ends) await connection.closeWrite();
    for await (const part of connection.readable.pipeThrough(new TextDecoderStream())) text += part;
  } catch (error) {
    // The server closed the connection before it read everything.
    if (!(error instanceof Deno.errors.ConnectionReset || error instanceof Deno.errors.BrokenPipe)) throw error;
  } finally {
    clearTimeout(timer);
  }
  return text;
}

/** A GraphQL document: fields of the schema and others, in any nesting, with arguments, aliases and directives. */
function documents(): fc.Arbitrary<string> {
  const field = fc.constantFrom(
    ...`apiKeys|apiKey(id: "a")|me|auditEvents(first: 1000)|auditEvents(first: -1)|id|name|roles
|apiKeysExist|permissions|resource|actions|__typename|__schema|__type(name: "ApiKey")|types|fields|ofType|type|nothing
|apiKeysByName(name: "\\u0000")|apiKey(id: [1,{a:$b}])|delete(input: {ids: []})|create(input: {name: "a"})|...F
|refusesTakenNames|... on ApiKey|a: b|@skip(if: true) x|c @include(if: $v)|lastUsedAt|createdBy|description`.split(
      /\n?\|/,
    ),
  );
  const { selection } = fc.letrec<{ selection: string }>((tie) => ({
    selection: fc.array(
      fc.tuple(field, fc.option(tie("selection"), { nil: "", depthSize: "small" })).map((parts) => parts.join(" ")),
      { minLength: 1, maxLength: 5, depthIdentifier: "graphql" },
    ).map((fields) => `{ ${fields.join(" ")} }`),
  }));
  const start = fc.constantFrom(
    ..."|query|mutation|subscription|query Q($v: Boolean = true)|fragment F on Query|type T".split("|"),
  );
  const document = fc.array(fc.tuple(start, selection).map((parts) => parts.join(" ")), { minLength: 1, maxLength: 3 });
  return fc.oneof(
    { weight: 5, arbitrary: document.map((parts) => parts.join("\n")) },
    fc.tuple(document, hostileText(), fc.nat(200)).map(([parts, text, at]) => {
      const whole = parts.join("\n");
      return whole.slice(0, at) + text + whole.slice(at);
    }),
    fc.tuple(fc.constantFrom("{a", "[", "{a:{", "(", '"""', "{...F "), fc.integer({ min: 1, max: 5000 })).map((
      [text, n],
    ) => text.repeat(n)),
  );
}

/** The body of a POST request: JSON of any shape, or not JSON. */
function bodies(): fc.Arbitrary<string> {
  const members = fc.record({
    query: fc.oneof(documents(), fc.jsonValue()),
    variables: fc.jsonValue(),
    operationName: fc.jsonValue(),
    extensions: fc.jsonValue(),
  }, { requiredKeys: [] });
  return fc.oneof(
    members.map((value) => JSON.stringify(value)),
    fc.json(),
    hostileText(),
    fc.nat(50_000).map((n) => "[".repeat(n)),
  );
}

await testOnExecutable("fuzz of serve", (executable) => {
  /** Runs a test against a new server, which must work afterwards as before. */
  const onServer = (test: (server: Server, admin: string) => Promise<void>): Promise<void> =>
    inTemporaryDirectory(async (directory) => {
      const env = { SERVICE_API_DATA_DIR: directory };
      const admin = await createAdmin(executable, env);
      const server = await serve(executable, [], env);
      try {
        await test(server, admin).catch((error) => {
          throw new Error(`${error}\nserve printed: ${server.log()}`, { cause: error });
        });
        expect(await (await fetch(new URL("/readyz", server.url))).text()).toBe("ok\n");
        expect(server.log()).not.toMatch(/Unexpected|TypeError|RangeError|panic/);
        expect(await server.peak()).toBeLessThan(MAX_MEMORY);
      } finally {
        expect(await server.stop("SIGTERM")).toBe(0);
      }
    });

  /** Posts a body. The answer must be JSON with data or errors, in time. */
  async function expectGraphql({ url }: Server, admin: string, body: string): Promise<void> {
    const response = await fetch(url, {
      method: "POST",
      headers: { authorization: `Bearer ${admin}`, "content-type": "application/json" },
      body,
      signal: AbortSignal.timeout(MAX_TIME),
    });
    expect([200, 400, 413, 422]).toContain(response.status);
    const { data, errors = [], ...rest } = await response.json();
    expect(rest).toEqual({});
    expect(data !== undefined || errors.length > 0).toBe(true);
    for (const { message, extensions } of errors) {
      expect(message).not.toMatch(/Unexpected error|undefined|\[object|TypeError|Maximum call stack/);
      expect(extensions?.code).not.toBe("UNREACHABLE");
    }
  }

  Deno.test("after requests that ask for an upgrade, even over HTTP/1.0, serve still accepts connections", () =>
    onServer(async ({ url }) => {
      const upgrade = "Host: a\r\nConnection: upgrade\r\nConnection: close\r\nUpgrade: websocket\r\n";
      const requests = [
        `GET /graphql HTTP/1.0\r\n${upgrade}\r\n`,
        `GET /graphql HTTP/1.1\r\n${upgrade}\r\n`,
        `POST /graphql HTTP/1.1\r\n${upgrade}Content-Length: 2\r\n\r\n{}`,
      ];
      for (const request of requests) {
        // deno-lint-ignore no-await-in-loop -- one request after the other
        expect(await exchange(url, encoder.encode(request), false)).toMatch(
          /^HTTP\/1.* 400 [^]*Remove the Upgrade header/,
        );
      }
    }));

  Deno.test("if a client sends any bytes, serve answers with a status below 500, or closes the connection", () =>
    onServer(async ({ url, peak }) => {
      await holdsForAll("HTTP connections", requests(), 200, 4_000, async (bytes) => {
        const statuses = [...(await exchange(url, bytes, true)).matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) =>
          Number(status)
        );
        expect(statuses.filter((status) => status >= 500 && status !== 501 && status !== 505)).toEqual([]);
      });
      await record("Highest memory of `serve` while fuzzed with HTTP", `${Math.round(await peak())} MB`);
    }));

  Deno.test("if a client sends any GraphQL document, serve answers with data or errors", () =>
    onServer(async (server, admin) => {
      await holdsForAll(
        "GraphQL documents",
        documents(),
        200,
        8_000,
        (query) => expectGraphql(server, admin, JSON.stringify({ query })),
      );
      await record("Highest memory of `serve` while fuzzed with GraphQL", `${Math.round(await server.peak())} MB`);
    }));

  Deno.test("if a client sends any JSON or text as the body, serve answers with data or errors", () =>
    onServer((server, admin) =>
      holdsForAll("request bodies", bodies(), 200, 4_000, (body) => expectGraphql(server, admin, body))
    ));
});
