/**
 * An HTTP server in Deno can stop accepting connections without an error. The watchdog then makes the server listen again.
 */
import { EventEmitter } from "node:events";
import { expect } from "expect";
import { watchAccepting } from "../../../src/server/http/accept_watchdog.ts";
import { until } from "../until.ts";

/** A server that records the calls of the watchdog. */
class FakeServer extends EventEmitter {
  readonly calls: string[] = [];

  accept(): void {
    this.emit("connection", new EventEmitter());
  }

  close(): void {
    this.calls.push("close");
  }

  listen(port: number, hostname: string): void {
    this.calls.push(`listen ${hostname}:${port}`);
  }
}

/**
 * Watches a server until `isDone` returns true.
 *
 * @param accepts returns whether the server accepts a connection; called with the number of earlier connections
 */
async function watch(
  openConnections: number,
  accepts: (earlier: number) => boolean,
  isDone: (server: FakeServer, probes: number) => boolean,
): Promise<{ readonly calls: readonly string[]; readonly logged: readonly string[]; readonly port: number }> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  const server = new FakeServer();
  const logged: string[] = [];
  const probes: Promise<unknown>[] = [];
  const stop = watchAccepting(server, "127.0.0.1", port, (message) => void logged.push(message), {
    check: 50,
    accept: 20,
  });
  for (let i = 0; i < openConnections; i++) server.accept();
  void (async () => {
    for await (const connection of listener) {
      if (accepts(probes.length)) server.accept();
      probes.push(connection.read(new Uint8Array(1)).finally(() => connection.close()));
    }
  })().catch(() => {});
  try {
    await until(() => isDone(server, probes.length));
  } finally {
    stop();
    await Promise.all(probes);
  }
  return { calls: server.calls, logged, port };
}

Deno.test("With many open connections, a server that no longer accepts connections listens again and logs the reason", async () => {
  const { calls, logged, port } = await watch(100, () => false, (server) => server.calls.length >= 2);
  expect(calls.slice(0, 2)).toEqual(["close", `listen 127.0.0.1:${port}`]);
  expect(logged[0]).toMatch(/^Stopped accepting connections: out of file descriptors\..*ulimit -n/);
});

Deno.test("With many open connections, a server that still accepts connections is not restarted", async () => {
  const { calls, logged } = await watch(100, () => true, (_server, probes) => probes >= 3);
  expect([calls, logged]).toEqual([[], []]);
});

Deno.test("With many open connections, a server that is sometimes late to accept connections is not restarted", async () => {
  const { calls, logged } = await watch(100, (earlier) => earlier % 3 === 2, (_server, probes) => probes >= 7);
  expect([calls, logged]).toEqual([[], []]);
});
