/** The error code, exit status and message if a request fails. */
import { expect } from "expect";
import type { Outcome } from "../execute.ts";
import { inProcess, type Program, withEnv } from "../program/program.ts";
import { AUTHORITY, CERTIFICATE, PRIVATE_KEY } from "./certificates.ts";
import { startServer } from "./foreign_server.ts";

const CREATE = ["apikey", "--create", "--name", "new", "--roles", "GUEST", "--json"] as const;
const KEY = "sak_0123456789abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG";

function at(url: string): Program {
  return withEnv(inProcess, { SERVICE_API_URL: url, SERVICE_API_KEY: KEY });
}

function expectFailure(outcome: Outcome, exitCode: number, failure: string, message: RegExp): void {
  expect({ code: outcome.code, stderr: outcome.stderr }).toEqual({ code: exitCode, stderr: "" });
  const { error, ...rest } = JSON.parse(outcome.stdout);
  expect(rest).toEqual({ code: failure });
  expect(error).toMatch(message);
  expect(error).not.toContain(KEY);
}

Deno.test("create fails with UNREACHABLE if the connection is refused, and the message names the host and SERVICE_API_URL", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const outcome = await at(`http://127.0.0.1:${port}`)(CREATE);
  expectFailure(outcome, 4, "UNREACHABLE", new RegExp(`127\\.0\\.0\\.1:${port}.*refused.*SERVICE_API_URL`));
});

Deno.test("create fails with UNREACHABLE if the connection is refused, even if the URL contains words from other errors", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const outcome = await at(`http://127.0.0.1:${port}/tls/certificate/invalid-HTTP`)(CREATE);
  expectFailure(outcome, 4, "UNREACHABLE", /connection refused/);
});

Deno.test("create fails with UNREACHABLE if the server closes the connection before the response, and the message says that the server may have executed the request", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const closingConnections = (async () => {
    for await (const connection of listener) {
      await connection.read(new Uint8Array(10_000));
      connection.close();
    }
  })();
  const outcome = await at(`http://127.0.0.1:${listener.addr.port}`)(CREATE);
  listener.close();
  await closingConnections;
  expectFailure(outcome, 4, "UNREACHABLE", /closed the connection.*may have executed/);
});

Deno.test("create fails with UNREACHABLE if the server closes the connection during the response, and the message says that the server may have executed the request", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const answering = (async () => {
    const connection = await listener.accept();
    await connection.read(new Uint8Array(10_000));
    const answer = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"data":{"ap';
    await connection.write(new TextEncoder().encode(answer));
    connection.close();
    listener.close();
  })();
  const outcome = await at(`http://127.0.0.1:${listener.addr.port}`)(CREATE);
  await answering;
  expectFailure(outcome, 4, "UNREACHABLE", /closed the connection.*may have executed/);
});

Deno.test("create fails with TIMEOUT if the server does not respond within --timeout, and the message says that the server may have executed the request", async () => {
  const { promise: forever, resolve } = Promise.withResolvers<Response>();
  await using server = startServer(() => forever);
  const outcome = await at(server.url)([...CREATE, "--timeout", "50ms"]);
  resolve(new Response());
  expectFailure(outcome, 4, "TIMEOUT", /within 0\.05 s.*may have executed.*--timeout/);
});

Deno.test("create fails with TIMEOUT if the server sends only half of the response", async () => {
  const half = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{"da')) });
  await using server = startServer(() => new Response(half, { headers: { "content-type": "application/json" } }));
  expectFailure(await at(server.url)([...CREATE, "--timeout", "100ms"]), 4, "TIMEOUT", /did not answer within/);
});

Deno.test("create fails with TLS if an unknown CA signed the server's certificate, and the message suggests --ca-file", async () => {
  await using server = startServer(() => new Response(), { cert: CERTIFICATE, key: PRIVATE_KEY });
  expectFailure(await at(server.url)(CREATE), 4, "TLS", /localhost.*not trusted.*--ca-file/);
});

Deno.test("request trusts the CA certificate in --ca-file or SERVICE_API_CA_FILE", async () => {
  const authority = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(authority, AUTHORITY);
    await using server = startServer(() => Response.json({ data: { apiKey: {} } }), {
      cert: CERTIFICATE,
      key: PRIVATE_KEY,
    });
    const outcome = await at(server.url)(["request", "--query", "{ a }", "--ca-file", authority]);
    expect(outcome).toEqual({ code: 0, stdout: '{"data":{"apiKey":{}}}\n', stderr: "" });
    const byVariable = await withEnv(at(server.url), { SERVICE_API_CA_FILE: authority })(["request", "--query", "{a}"]);
    expect(byVariable.code).toBe(0);
  } finally {
    await Deno.remove(authority);
  }
});

Deno.test("create fails with TLS if the server's certificate is for another host name", async () => {
  const authority = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(authority, AUTHORITY);
    await using server = startServer(() => new Response(), { cert: CERTIFICATE, key: PRIVATE_KEY });
    const url = server.url.replace("localhost", "127.0.0.1");
    expectFailure(await at(url)([...CREATE, "--ca-file", authority]), 4, "TLS", /another host name/);
  } finally {
    await Deno.remove(authority);
  }
});

Deno.test("create fails with TLS if the URL begins with https:// but the server does not use TLS", async () => {
  await using server = startServer(() => new Response());
  expectFailure(await at(server.url.replace("http:", "https:"))(CREATE), 4, "TLS", /does not speak TLS/);
});

Deno.test("create fails with BAD_RESPONSE if the URL begins with http:// but the server uses TLS", async () => {
  await using server = startServer(() => new Response(), { cert: CERTIFICATE, key: PRIVATE_KEY });
  const outcome = await at(server.url.replace("https:", "http:"))(CREATE);
  expectFailure(outcome, 4, "BAD_RESPONSE", /does not speak HTTP/);
});

const NOT_GRAPHQL: readonly (readonly [string, Response])[] = [
  ["HTML", new Response("<html>hello</html>", { headers: { "content-type": "text/html" } })],
  ["an empty body", new Response("")],
  ["broken JSON", new Response('{"data":', { headers: { "content-type": "application/json" } })],
  ["a JSON array", Response.json([])],
  ["a JSON string", Response.json("data")],
  ["null", Response.json(null)],
  ["no data member", Response.json({})],
  ["null data", Response.json({ data: null })],
  ["a number instead of an id", Response.json({ data: { apiKey: { create: { id: 7 } } } })],
  ["an empty secret", Response.json({ data: { apiKey: { create: { id: "a", name: "new", key: "" } } } })],
  [
    "a secret with a line break",
    Response.json({ data: { apiKey: { create: { id: "a", name: "new", key: "a\nb" } } } }),
  ],
  ["an empty list of errors", Response.json({ errors: [] })],
  ["HTTP status 404", new Response("nothing here", { status: 404 })],
  ["a redirect", new Response(null, { status: 307, headers: { location: "https://elsewhere.example/graphql" } })],
];
for (const [what, response] of NOT_GRAPHQL) {
  Deno.test(`create fails with BAD_RESPONSE if the server answers with ${what}`, async () => {
    await using server = startServer(() => response.clone());
    expectFailure(await at(server.url)(CREATE), 4, "BAD_RESPONSE", /^(?!.*: :).*127\.0\.0\.1:\d+.*SERVICE_API_URL/);
  });
}

const STATUSES: readonly (readonly [number, number, string])[] = [
  [401, 3, "UNAUTHENTICATED"],
  [403, 3, "FORBIDDEN"],
  [429, 4, "RATE_LIMITED"],
  [500, 4, "BAD_RESPONSE"],
  [502, 4, "UNREACHABLE"],
  [503, 4, "UNREACHABLE"],
  [504, 4, "TIMEOUT"],
];
for (const [status, exitCode, code] of STATUSES) {
  Deno.test(`create fails with ${code} if the server answers with HTTP status ${status} and a body that is not GraphQL`, async () => {
    await using server = startServer(() => new Response("no", { status }));
    expectFailure(await at(server.url)(CREATE), exitCode, code, new RegExp(String(status)));
  });
}

const ERRORS: readonly (readonly [unknown, number, string])[] = [
  [{ code: "UNAUTHENTICATED" }, 3, "UNAUTHENTICATED"],
  [{ code: "FORBIDDEN" }, 3, "FORBIDDEN"],
  [{ code: "ALREADY_EXISTS" }, 1, "ALREADY_EXISTS"],
  [{ code: "INVALID_NAME" }, 2, "INVALID_NAME"],
  [{ code: "SOMETHING_ELSE" }, 1, "FAILED"],
  [{ code: 7 }, 1, "FAILED"],
  [null, 1, "FAILED"],
  [undefined, 1, "FAILED"],
];
for (const [extensions, exitCode, code] of ERRORS) {
  Deno.test(`create fails with ${code} if the server sends a GraphQL error with the extensions ${JSON.stringify(extensions)}`, async () => {
    await using server = startServer(() =>
      Response.json({ data: null, errors: [{ message: "It said no.", extensions }] })
    );
    expectFailure(await at(server.url)(CREATE), exitCode, code, /It said no\./);
  });
}

Deno.test("an error message from the server cannot move the cursor or reveal the key", async () => {
  const message = `\u001b[2J\r\n\u009b1A your key ${KEY} is \u202ebad`;
  await using server = startServer(() => Response.json({ errors: [{ message }] }));
  const { stderr } = await at(server.url)(["apikey", "--create", "--name", "new", "--roles", "GUEST"]);
  expect(stderr).toBe("service-api: \\u{1b}[2J \\u{9b}1A your key … is \\u{202e}bad.\n");
});

Deno.test("create does not follow a redirect to another server, so that server does not receive the key", async () => {
  await using other = startServer(() => Response.json({ data: {} }));
  await using server = startServer(() => Response.redirect(`${other.url}/graphql`, 308));
  expectFailure(await at(server.url)(CREATE), 4, "BAD_RESPONSE", /redirect/);
  expect(other.requests).toEqual([]);
});
