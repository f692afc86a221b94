/** Stops a server without losing requests that it has begun to answer. */
import type { Server } from "node:http";
import type { ServerState } from "./request_handler.ts";

/** How long a connection without a request in progress may stay open, in milliseconds. */
const IDLE_TIMEOUT = 200;

/** How often idle connections are closed, in milliseconds. */
const CLOSING_INTERVAL = 20;

/**
 * Accepts no new requests and waits for those in progress.
 *
 * @param timeout in milliseconds; requests that take longer are cut off
 * @returns how many requests were cut off
 */
export async function shutDown(server: Server, state: ServerState, timeout: number): Promise<number> {
  const { timeouts, pending } = state;
  const deadline = performance.now() + timeout;
  state.isStopping = true;
  // Node does not count a connection as idle once the first byte of a request has arrived.
  timeouts.setAll(IDLE_TIMEOUT, new Set([...pending].map(({ socket }) => socket)));
  let isClosed = false;
  server.close(() => isClosed = true);
  while (!(isClosed && pending.size === 0) && performance.now() < deadline) {
    server.closeIdleConnections();
    // deno-lint-ignore no-await-in-loop -- polls until the requests are answered
    await new Promise((resolve) => setTimeout(resolve, CLOSING_INTERVAL));
  }
  const unfinished = [...pending].filter(({ socket }) => !socket.destroyed);
  for (const { cutOff } of pending) cutOff();
  // Leaves the responses time to be sent.
  if (unfinished.length > 0) await new Promise((resolve) => setTimeout(resolve, CLOSING_INTERVAL));
  timeouts.destroyAll();
  return unfinished.length;
}
