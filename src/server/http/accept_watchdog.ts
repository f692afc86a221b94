/**
 * A server that goes on accepting connections. Once the process has no file descriptor left, Deno's servers stop
 * accepting for good, without a word: this finds out by connecting to itself, and listens again.
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { LogSink } from "../graphql/messages.ts";

/** How many connections at once are worth a look. */
const MANY = 100;

/** How often to look, and how long a connection may take to be accepted, in milliseconds. */
const INTERVAL = 2000;
const PATIENCE = 1000;

/**
 * Looks after a server that listens.
 *
 * @returns a function that ends it
 */
export function watchAccepting(server: Server, hostname: string, port: number, logError: LogSink): () => void {
  const target = hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname;
  let open = 0;
  let isSuspect = false;
  let isOver = false;
  let accepted = new Set<number | undefined>();
  server.on("connection", (socket: Socket) => {
    if (++open >= MANY) isSuspect = true;
    if (isSuspect) accepted.add(socket.remotePort);
    socket.on("close", () => open--);
  });

  async function look(): Promise<void> {
    if (!isSuspect) return;
    accepted = new Set();
    // While there is no descriptor for it, this fails, and is tried again.
    const probe = await Deno.connect({ hostname: target, port });
    const { localAddr } = probe;
    await new Promise((resolve) => setTimeout(resolve, PATIENCE));
    probe.close();
    if (isOver) return;
    if ("port" in localAddr && !accepted.has(localAddr.port)) {
      logError(
        "No connection was accepted any more, for want of file descriptors: raise ulimit -n. Listening again.",
        {},
      );
      server.close();
      server.listen(port, hostname);
    } else {
      isSuspect = open >= MANY;
    }
  }

  const timer = setInterval(() => void look().catch(() => {}), INTERVAL);
  return () => {
    isOver = true;
    clearInterval(timer);
  };
}
