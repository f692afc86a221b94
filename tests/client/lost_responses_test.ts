/** Messages if a request fails after it was sent: they say that the server may have executed it, unless it is a query. */
import { expect } from "expect";
import { gzipSync } from "node:zlib";
import { inProcess, withEnv } from "../program/program.ts";
import { AUTHORITY } from "./certificates.ts";
import { clientOver } from "./client_over.ts";
import { startServer } from "./foreign_server.ts";
import { type Misbehaviour, startRawServer, writeWithoutEnd } from "./raw_server.ts";

const CREATE = ["apikey", "--create", "--name", "new", "--roles", "GUEST", "--json"];
const QUERY = ["request", "--query", "query { apiKeys { id } }", "--json"];
const MUTATION = ["request", "--query", "mutation { a }", "--json"];
const OTHER_BODY = ["request", "--body", '{"provider":"github"}', "--json"];

const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const GZIP = gzipSync(JSON.stringify({ data: null, filler: "x".repeat(5000) }));

function overTcp(answer: string, ...rest: readonly Uint8Array[]): Misbehaviour {
  return {
    over: "tcp",
    answer: (socket) => {
      socket.write(answer);
      for (const bytes of rest) socket.write(bytes);
      socket.end();
    },
  };
}

function compressed(coding: string, bytes: Uint8Array): Misbehaviour {
  return overTcp(`${HEAD}Content-Encoding: ${coding}\r\nContent-Length: ${bytes.length}\r\n\r\n`, bytes);
}

const MISBEHAVIOURS: readonly (readonly [string, Misbehaviour, string, RegExp])[] = [
  [
    "resets the connection",
    { over: "tcp", answer: (socket) => socket.resetAndDestroy() },
    "UNREACHABLE",
    /failed: the server closed the connection before the response was complete\./,
  ],
  [
    "ends the response inside a chunk",
    overTcp(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhe`),
    "UNREACHABLE",
    /closed/,
  ],
  [
    "closes TLS without close_notify",
    { over: "tls", answer: (_socket, tcp) => tcp.destroy() },
    "UNREACHABLE",
    /failed: the server closed the connection before the response was complete\./,
  ],
  [
    "closes TLS without close_notify after half of the body",
    {
      over: "tls",
      answer: (socket, tcp) => void socket.write(`${HEAD}Content-Length: 100\r\n\r\n{`, () => tcp.end()),
    },
    "UNREACHABLE",
    /closed the connection/,
  ],
  [
    "sends a TLS record that cannot be decrypted",
    { over: "tls", answer: (_socket, tcp) => void tcp.write(new Uint8Array([23, 3, 3, 0, 40, ...new Uint8Array(40)])) },
    "TLS",
    /failed: TLS failed before the response was complete\./,
  ],
  [
    "stops speaking TLS",
    { over: "tls", answer: (_socket, tcp) => void tcp.write(`${HEAD}\r\n`) },
    "TLS",
    /failed: TLS failed before the response was complete\./,
  ],
  [
    "resets the HTTP/2 stream",
    { over: "http2", answer: (stream) => stream.close(2) },
    "UNREACHABLE",
    /failed: the server reset the HTTP\/2 stream before the response was complete\./,
  ],
  [
    "closes the HTTP/2 session",
    { over: "http2", answer: (stream) => stream.session?.destroy() },
    "UNREACHABLE",
    /before the response was complete\./,
  ],
  ["sends broken gzip", compressed("gzip", new Uint8Array(20)), "BAD_RESPONSE", /could not be decompressed\./],
  [
    "sends half of a gzip file",
    compressed("gzip", GZIP.subarray(0, -20)),
    "BAD_RESPONSE",
    /could not be decompressed\./,
  ],
  [
    "sends gzip with a wrong checksum",
    compressed("gzip", GZIP.map((byte, index) => index === GZIP.length - 6 ? byte ^ 0xff : byte)),
    "BAD_RESPONSE",
    /could not be decompressed\./,
  ],
  [
    "sends broken brotli",
    compressed("br", new Uint8Array(20).fill(255)),
    "BAD_RESPONSE",
    /could not be decompressed\./,
  ],
  [
    "closes the connection inside a gzip file",
    overTcp(`${HEAD}Content-Encoding: gzip\r\nContent-Length: ${GZIP.length}\r\n\r\n`, GZIP.subarray(0, 20)),
    "UNREACHABLE",
    /closed the connection/,
  ],
  ["sends an invalid status", overTcp("HTTP/1.1 99999 OK\r\n\r\n"), "BAD_RESPONSE", /headers.* not valid HTTP\./],
  [
    "sends two lengths",
    overTcp(`${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`),
    "BAD_RESPONSE",
    /headers.* not valid HTTP\./,
  ],
  [
    "sends a header without end",
    {
      over: "tcp",
      answer: (socket) => {
        socket.write(`${HEAD}X-Long: `);
        writeWithoutEnd(socket, "a".repeat(65_536));
      },
    },
    "BAD_RESPONSE",
    /headers.* not valid HTTP\./,
  ],
];

for (const [what, behaviour, code, message] of MISBEHAVIOURS) {
  Deno.test(`if the server ${what}, the message says that it may have executed a mutation`, async () => {
    await using server = await startRawServer(behaviour);
    const authority = await Deno.makeTempFile();
    try {
      await Deno.writeTextFile(authority, AUTHORITY);
      const program = withEnv(inProcess, { SERVICE_API_URL: server.url, SERVICE_API_CA_FILE: authority });
      for (const args of [CREATE, MUTATION, OTHER_BODY, QUERY]) {
        // deno-lint-ignore no-await-in-loop -- the server must not mix up the connections
        const outcome = await program([...args, "--timeout", "20s"]);
        expect(outcome).toMatchObject({ code: 4, stderr: "" });
        const failure = JSON.parse(outcome.stdout);
        expect(failure).toMatchObject({ code, error: expect.stringMatching(message) });
        expect({ args, mayHaveExecuted: failure.error.includes(" The server may have executed the request.") })
          .toEqual({ args, mayHaveExecuted: args !== QUERY });
      }
    } finally {
      await Deno.remove(authority);
    }
  });
}

Deno.test("if the server does not answer a query in time, the message does not say that it may have executed the query", async () => {
  const { promise: forever, resolve } = Promise.withResolvers<Response>();
  await using server = startServer(() => forever);
  const outcome = await inProcess([...QUERY, "--timeout", "50ms"], { env: { SERVICE_API_URL: server.url } });
  resolve(new Response());
  expect(JSON.parse(outcome.stdout)).toMatchObject({
    code: "TIMEOUT",
    error: expect.stringMatching(/ did not answer within 0\.05 s\. Raise --timeout, or check the server\.$/),
  });
});

Deno.test("if the program cannot connect, the message does not say that the server may have executed the request", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  await using notTls = startServer(() => new Response());
  await using untrusted = await startRawServer({ over: "tls", answer: () => {} });
  for (const url of [`http://127.0.0.1:${port}`, notTls.url.replace("http:", "https:"), untrusted.url]) {
    // deno-lint-ignore no-await-in-loop -- one request at a time
    const { stdout } = await inProcess(CREATE, { env: { SERVICE_API_URL: url } });
    expect(JSON.parse(stdout).error).toMatch(/^Could not reach /);
    expect(stdout).not.toContain("executed");
  }
});

Deno.test("if the runtime hides that a response was compressed, the message still says that it could not be decompressed", async () => {
  const body = new ReadableStream({ pull: (controller) => controller.error(new TypeError("Invalid gzip header")) });
  const client = clientOver(() => Promise.resolve(new Response(body)));
  await expect(client.listKeys()).rejects.toThrow("the response could not be decompressed.");
});

Deno.test("if the server reports an error of the HTTP/2 connection, the message says that the server ended it", async () => {
  const reason = "client error (SendRequest): http2 error: connection error received: unexpected internal error";
  const client = clientOver(() => Promise.reject(new TypeError(`error sending request: ${reason}`)));
  await expect(client.listKeys()).rejects.toThrow("the server ended the HTTP/2 connection before the response was");
});
