/** Closes connections of clients that send or read too slowly. Also answers the requests that take too long. */
import type { PendingRequests } from "./pending_requests.ts";

/** The parts of a socket that this module uses. */
export interface Connection {
  /** Sends a FIN. The client can still send. */
  end(): unknown;
  destroy(): unknown;
}

interface Deadline {
  /** The time on the monotonic clock (`performance.now`), in milliseconds. */
  at: number;
}

/** The shortest and longest time between two checks of the deadlines, in milliseconds. */
const MIN_CHECK_INTERVAL = 50;
const MAX_CHECK_INTERVAL = 1000;

export class ConnectionTimeouts {
  readonly #deadlines = new Map<Connection, Deadline>();
  readonly #pending: Pick<PendingRequests, "answerLate">;
  readonly #timer: ReturnType<typeof setInterval>;

  /**
   * @param shortestTimeout the shortest timeout in use, in milliseconds; determines how often to check the deadlines
   * @param pending requests that have deadlines of their own
   */
  constructor(shortestTimeout: number, pending: Pick<PendingRequests, "answerLate">) {
    const interval = Math.min(MAX_CHECK_INTERVAL, Math.max(MIN_CHECK_INTERVAL, shortestTimeout / 4));
    this.#pending = pending;
    this.#timer = setInterval(() => this.#check(), interval);
  }

  /**
   * Sets or replaces the deadline of a connection. When it passes, the connection is destroyed.
   *
   * @param timeout the time until the deadline, in milliseconds
   */
  set(connection: Connection, timeout: number): void {
    const at = performance.now() + timeout;
    const deadline = this.#deadlines.get(connection);
    if (deadline === undefined) this.#deadlines.set(connection, { at });
    else deadline.at = at;
  }

  /** Ignores the deadline of a connection until `set` replaces it. */
  suspend(connection: Connection): void {
    const deadline = this.#deadlines.get(connection);
    if (deadline !== undefined) deadline.at = Infinity;
  }

  /** The connections that have a deadline. */
  get connections(): IterableIterator<Connection> {
    return this.#deadlines.keys();
  }

  clear(connection: Connection): void {
    this.#deadlines.delete(connection);
  }

  /** Destroys all connections and stops checking. */
  destroyAll(): void {
    clearInterval(this.#timer);
    for (const connection of this.#deadlines.keys()) connection.destroy();
    this.#deadlines.clear();
  }

  #check(): void {
    const now = performance.now();
    this.#pending.answerLate(now);
    for (const [connection, { at }] of this.#deadlines) {
      if (at > now) continue;
      this.#deadlines.delete(connection);
      connection.destroy();
    }
  }
}
