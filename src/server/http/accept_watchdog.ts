/**
 * Keeps a server accepting connections. If the process runs out of file descriptors, Deno's servers stop accepting
 * connections permanently, without an error. The watchdog connects to the server to detect this. If the server does not
 * accept the connection, the watchdog makes it listen again.
 */
import type { LogError } from "../telemetry/log_error.ts";

/** The parts of a socket that this module uses. */
export interface AcceptedSocket {
  readonly remotePort?: number | undefined;
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
  let acceptedPorts = new Set<number | undefined>();
  server.on("connection", (socket) => {
    if (++openConnections >= MANY_CONNECTIONS) mustCheck = true;
    if (mustCheck) acceptedPorts.add(socket.remotePort);
    socket.on("close", () => openConnections--);
  });

  async function check(): Promise<void> {
    if (!mustCheck) return;
    acceptedPorts = new Set();
    // This fails while the process has no free file descriptor. The next check tries again.
    const probe = await Deno.connect({ hostname: target, port });
    const { localAddr } = probe;
    await new Promise((resolve) => setTimeout(resolve, intervals.accept));
    probe.close();
    if (isStopped) return;
    if ("port" in localAddr && !acceptedPorts.has(localAddr.port)) {
      logError("Stopped accepting connections: out of file descriptors. Listening again. Raise ulimit -n.", {});
      server.close();
      server.listen(port, hostname);
    } else {
      mustCheck = openConnections >= MANY_CONNECTIONS;
    }
  }

  const timer = setInterval(() => void check().catch(() => {}), intervals.check);
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
