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

interface Deadline {
  /** The time on the monotonic clock (`performance.now`), in milliseconds. */
  readonly at: number;
  readonly onTimeout?: (() => void) | undefined;
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
   * @param onTimeout called instead of destroying the connection
   */
  set(connection: Connection, timeout: number, onTimeout?: () => void): void {
    this.#deadlines.set(connection, { at: performance.now() + timeout, onTimeout });
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
    for (const [connection, { at, onTimeout }] of this.#deadlines) {
      if (at > now) continue;
      this.#deadlines.delete(connection);
      if (onTimeout === undefined) connection.destroy();
      else onTimeout();
    }
  }
}
