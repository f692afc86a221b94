/**
 * Stops a server without resetting connections: each response says that the connection closes, and idle connections stay
 * open for a moment, because the client may just be sending a request.
 */
import type { Server } from "node:http";
import type { Connection } from "./connection_timeouts.ts";
import type { ServerState } from "./request_handler.ts";

/** How long an idle connection stays open, and how long the client may then take to close it, in milliseconds. */
const IDLE_TIMEOUT = 200;

/** How often idle connections are closed, in milliseconds. */
const CLOSING_INTERVAL = 20;

/**
 * Stops accepting connections and waits for the requests in progress. Rejects requests that arrive later.
 *
 * @param timeout how long to wait, in milliseconds; then the remaining requests are answered with an error
 * @returns how many requests were not finished in time
 */
export async function shutDown(server: Server, state: ServerState, timeout: number): Promise<number> {
  const { timeouts, pending, pipelines } = state;
  const start = performance.now();
  state.isStopping = true;
  const ended = new Set<Connection>();
  const endIdleConnections = (): void => {
    for (const connection of timeouts.connections) {
      if (ended.has(connection) || pipelines.isBusy(connection)) continue;
      ended.add(connection);
      connection.end();
      timeouts.set(connection, IDLE_TIMEOUT);
    }
  };
  let isClosed = false;
  // Otherwise `close` would close idle connections at once.
  server.closeIdleConnections = () => {};
  server.close(() => isClosed = true);
  while (!(isClosed && pending.size === 0) && performance.now() < start + timeout) {
    if (performance.now() >= start + IDLE_TIMEOUT) endIdleConnections();
    // deno-lint-ignore no-await-in-loop -- polls until the requests are answered
    await new Promise((resolve) => setTimeout(resolve, CLOSING_INTERVAL));
  }
  const unfinished = pending.answerAll();
  // Leaves time to send the responses.
  if (unfinished > 0) await new Promise((resolve) => setTimeout(resolve, CLOSING_INTERVAL));
  timeouts.destroyAll();
  return unfinished;
}
