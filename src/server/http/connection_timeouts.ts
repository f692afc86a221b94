/**
 * Closes connections of clients that send or read too slowly. Each connection has one deadline. When the deadline passes,
 * the connection is destroyed. If a request is in progress, the server answers the request with an error instead.
 */

/** The parts of a socket that this module uses. */
export interface Connection {
  /** Sends a FIN. The client can still send. */
  end(): unknown;
  destroy(): unknown;
}

/** What happens when a deadline passes, instead of destroying the connection. */
export interface TimeoutListener {
  onTimeout(): void;
}

interface Deadline {
  /** The time on the monotonic clock (`performance.now`), in milliseconds. */
  at: number;
  listener: TimeoutListener | undefined;
}

/** The shortest and longest time between two checks of the deadlines, in milliseconds. */
const MIN_CHECK_INTERVAL = 50;
const MAX_CHECK_INTERVAL = 1000;

export class ConnectionTimeouts {
  readonly #deadlines = new Map<Connection, Deadline>();
  readonly #timer: ReturnType<typeof setInterval>;

  /** @param shortestTimeout the shortest timeout in use, in milliseconds; determines how often to check the deadlines */
  constructor(shortestTimeout: number) {
    const interval = Math.min(MAX_CHECK_INTERVAL, Math.max(MIN_CHECK_INTERVAL, shortestTimeout / 4));
    this.#timer = setInterval(() => this.#check(), interval);
  }

  /**
   * Sets or replaces the deadline of a connection.
   *
   * @param timeout the time until the deadline, in milliseconds
   * @param listener called instead of destroying the connection
   */
  set(connection: Connection, timeout: number, listener?: TimeoutListener): void {
    const at = performance.now() + timeout;
    const deadline = this.#deadlines.get(connection);
    if (deadline === undefined) {
      this.#deadlines.set(connection, { at, listener });
    } else {
      deadline.at = at;
      deadline.listener = listener;
    }
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
    for (const [connection, { at, listener }] of this.#deadlines) {
      if (at > now) continue;
      this.#deadlines.delete(connection);
      if (listener === undefined) connection.destroy();
      else listener.onTimeout();
    }
  }
}
