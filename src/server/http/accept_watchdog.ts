/**
 * Keeps a server accepting connections. When the process runs out of file descriptors, Deno's servers stop accepting for
 * good, without an error. The watchdog detects this by connecting to the server, and makes it listen again.
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { LogError } from "../telemetry/log_error.ts";

/** With fewer open connections than this, the process cannot run out of file descriptors. */
const MANY_CONNECTIONS = 100;

/** How often to check, and how long the server may take to accept a connection, in milliseconds. */
const CHECK_INTERVAL = 2000;
const ACCEPT_TIMEOUT = 1000;

/**
 * Watches a listening server.
 *
 * @returns a function that stops watching
 */
export function watchAccepting(server: Server, hostname: string, port: number, logError: LogError): () => void {
  const target = hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname;
  let openConnections = 0;
  let mustCheck = false;
  let isStopped = false;
  let acceptedPorts = new Set<number | undefined>();
  server.on("connection", (socket: Socket) => {
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
    await new Promise((resolve) => setTimeout(resolve, ACCEPT_TIMEOUT));
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

  const timer = setInterval(() => void check().catch(() => {}), CHECK_INTERVAL);
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
