/** Waits for the next turn of the event loop. */
import { setImmediate } from "node:timers/promises";

/**
 * How often to wait for two turns. Deno 2.7.14 reads again and again from the sockets that already have more data, and
 * asks the system about the others only when no socket has data. In a busy server, a connection could wait for hundreds
 * of requests of other connections. Two turns in a row let Deno notice that no socket has data yet.
 */
const DOUBLE_EVERY = 4;

let count = 0;

/** Resolves after the event loop has handled the requests that have already arrived. */
export async function nextTurn(): Promise<void> {
  await setImmediate();
  if (++count % DOUBLE_EVERY === 0) await setImmediate();
}
