/**
 * Keeps a server accepting connections. If the process runs out of file descriptors, Deno's servers stop accepting
 * connections permanently, without an error. The watchdog connects to the server to detect this. If the server accepts no
 * connection several times in a row, the watchdog makes it listen again. Once is not enough: a busy server may only be
 * late, and listening again resets the connections that wait to be accepted.
 */
import type { LogError } from "../telemetry/log_error.ts";

/** The parts of a socket that this module uses. */
export interface AcceptedSocket {
  on(event: "close", listener: () => void): unknown;
}

/** The parts of a server that this module uses. */
export interface ListeningServer {
  on(event: "connection", listener: (socket: AcceptedSocket) => void): unknown;
  close(): unknown;
  listen(port: number, hostname: string): unknown;
}

/** With fewer open connections, the process is unlikely to run out of file descriptors, so the watchdog does not check. */
const MANY_CONNECTIONS = 100;

/** After how many checks in a row without an accepted connection the server listens again. */
const MAX_FAILURES = 3;

/** Times in milliseconds. */
export interface WatchIntervals {
  /** How often to check. */
  readonly check: number;
  /** How long the server may take to accept a connection. */
  readonly accept: number;
}

/**
 * Watches a listening server.
 *
 * @returns a function that stops watching
 */
export function watchAccepting(
  server: ListeningServer,
  hostname: string,
  port: number,
  logError: LogError,
  intervals: WatchIntervals = { check: 2000, accept: 1000 },
): () => void {
  const target = hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname;
  let openConnections = 0;
  let mustCheck = false;
  let isStopped = false;
  let accepted = 0;
  let failures = 0;
  server.on("connection", (socket) => {
    accepted++;
    if (++openConnections >= MANY_CONNECTIONS) mustCheck = true;
    socket.on("close", () => openConnections--);
  });

  async function check(): Promise<void> {
    if (!mustCheck) return;
    const acceptedBefore = accepted;
    // This fails while the process has no free file descriptor. The next check tries again.
    const probe = await Deno.connect({ hostname: target, port });
    await new Promise((resolve) => setTimeout(resolve, intervals.accept));
    probe.close();
    if (isStopped) return;
    failures = accepted === acceptedBefore ? failures + 1 : 0;
    if (failures >= MAX_FAILURES) {
      failures = 0;
      logError("Stopped accepting connections: out of file descriptors. Listening again. Raise ulimit -n.", {});
      server.close();
      server.listen(port, hostname);
    } else if (failures === 0) {
      mustCheck = openConnections >= MANY_CONNECTIONS;
    }
  }

  const timer = setInterval(() => void check().catch(() => {}), intervals.check);
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
