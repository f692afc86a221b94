/** Stops a server, but lets it finish the requests in progress. */
import type { Server } from "node:http";
import type { ServerState } from "./request_handler.ts";

/** How long a connection without a request in progress may stay open during the shutdown, in milliseconds. */
const IDLE_TIMEOUT = 200;

/** How often idle connections are closed, in milliseconds. */
const CLOSING_INTERVAL = 20;

/**
 * Stops accepting requests and waits for the requests in progress.
 *
 * @param timeout how long to wait, in milliseconds; then the remaining requests are answered with an error
 * @returns how many requests were not finished in time
 */
export async function shutDown(server: Server, state: ServerState, timeout: number): Promise<number> {
  const { timeouts, pending } = state;
  const deadline = performance.now() + timeout;
  state.isStopping = true;
  // `closeIdleConnections` does not close a connection on which part of a request has arrived.
  timeouts.setAll(IDLE_TIMEOUT, new Set([...pending].map(({ socket }) => socket)));
  let isClosed = false;
  server.close(() => isClosed = true);
  while (!(isClosed && pending.size === 0) && performance.now() < deadline) {
    server.closeIdleConnections();
    // deno-lint-ignore no-await-in-loop -- polls until the requests are answered
    await new Promise((resolve) => setTimeout(resolve, CLOSING_INTERVAL));
  }
  const unfinished = [...pending].filter(({ socket }) => !socket.destroyed);
  for (const { answerStopped } of pending) answerStopped();
  // Leaves time to send the responses.
  if (unfinished.length > 0) await new Promise((resolve) => setTimeout(resolve, CLOSING_INTERVAL));
  timeouts.destroyAll();
  return unfinished.length;
}
