/** Clients that send requests without end, and read the responses or not. */
import { expect } from "expect";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { createAdmin, send } from "./clients.ts";
import { amount, record } from "./form.ts";
import { serve, testOnExecutable } from "./process.ts";

const CONNECTIONS = 64;

/** How long the clients send, in milliseconds. */
const DURATION = amount(2_000, 15_000);

/**
 * The largest resident memory of the server, in megabytes. A server that only answers `ok` on the same runtime (Deno
 * 2.7.11) needs 158 MB for one client, and 219 MB for clients that pipeline and never read. `serve` reaches 205 to 265 MB
 * in 5 s, and then stays there. Without limits, it needed 350 to 2,350 MB.
 */
const MAX_MEMORY = 300;
const MAX_MEMORY_ONE_CLIENT = 200;

/** How many requests one client sends. */
const REQUESTS_ONE_CLIENT = amount(2_000, 5_000);

/** The longest time in which another client must get a response, in milliseconds. Busy machines need more than 1 s. */
const MAX_TIME = 10_000;

const REQUESTS: Readonly<Record<string, string>> = {
  "GET /healthz": "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
  "POST /graphql without a key": "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
  "a path that does not exist": `GET /${"a".repeat(1000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
};

await testOnExecutable("pipelining", (executable) => {
  Deno.test(`if a client sends ${REQUESTS_ONE_CLIENT} requests one after the other, serve keeps its memory`, () =>
    inTemporaryDirectory(async (directory) => {
      const env = { SERVICE_API_DATA_DIR: directory };
      const admin = await createAdmin(executable, env);
      const server = await serve(executable, [], env);
      try {
        for (let i = 0; i < REQUESTS_ONE_CLIENT; i++) {
          // deno-lint-ignore no-await-in-loop -- one request after the other
          expect(await send(server.url, admin, "{ me { name } }")).toEqual({ data: { me: { name: "admin" } } });
        }
        const memory = await server.peak();
        expect(memory).toBeLessThan(MAX_MEMORY_ONE_CLIENT);
        await record(`${REQUESTS_ONE_CLIENT} requests one after the other`, `${Math.round(memory)} MB in \`serve\``);
      } finally {
        await server.stop("SIGKILL");
      }
    }));

  for (const [what, request] of Object.entries(REQUESTS)) {
    Deno.test(`if ${CONNECTIONS} clients pipeline ${what} and never read, serve keeps its memory and answers others`, () =>
      inTemporaryDirectory(async (directory) => {
        const env = { SERVICE_API_DATA_DIR: directory };
        const admin = await createAdmin(executable, env);
        const server = await serve(executable, [], env);
        const { port } = new URL(server.url);
        const connections = await Promise.all(
          Array.from({ length: CONNECTIONS }, () => Deno.connect({ hostname: "127.0.0.1", port: Number(port) })),
        );
        const block = new TextEncoder().encode(request.repeat(Math.ceil(65_536 / request.length)));
        const sending = connections.map(async (connection) => {
          // Ends when the server or the end of the test closes the connection.
          // deno-lint-ignore no-await-in-loop -- writes as fast as the server reads
          for (let at = 0;; at %= block.length) at += await connection.write(block.subarray(at));
        });
        const ended = Promise.allSettled(sending);
        let slowest = 0;
        let memory = 0;
        try {
          for (const end = performance.now() + DURATION; performance.now() < end;) {
            const before = performance.now();
            // deno-lint-ignore no-await-in-loop -- one request after the other
            expect(await send(server.url, admin, "{ me { name } }")).toEqual({ data: { me: { name: "admin" } } });
            slowest = Math.max(slowest, performance.now() - before);
          }
          memory = await server.peak();
        } finally {
          // Ends the writes. On Deno 2.7, closing a connection does not end a write that waits.
          await server.stop("SIGKILL");
          await ended;
          for (const connection of connections) connection.close();
        }
        expect(memory).toBeLessThan(MAX_MEMORY);
        expect(slowest).toBeLessThan(MAX_TIME);
        await record(
          `${CONNECTIONS} clients that pipeline ${what} and never read`,
          `${Math.round(memory)} MB in \`serve\`, slowest response to another client ${Math.round(slowest)} ms`,
        );
      }));
  }
});
