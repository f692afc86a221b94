/**
 * Closes connections that send or read too slowly. Each connection has one deadline. When it passes, the connection is
 * destroyed or, if a request is in progress, the request is answered first.
 */

/** What this module needs of a socket. */
export interface Connection {
  destroy(): unknown;
}

interface Deadline {
  /** In milliseconds of the monotonic clock. */
  readonly at: number;
  readonly onTimeout?: (() => void) | undefined;
}

/** How often deadlines are checked, in milliseconds. */
const MIN_CHECK_INTERVAL = 50;
const MAX_CHECK_INTERVAL = 1000;

export class ConnectionTimeouts {
  readonly #deadlines = new Map<Connection, Deadline>();
  readonly #timer: ReturnType<typeof setInterval>;

  /** @param shortestTimeout the shortest timeout in use, in milliseconds; deadlines are checked four times as often */
  constructor(shortestTimeout: number) {
    const interval = Math.min(MAX_CHECK_INTERVAL, Math.max(MIN_CHECK_INTERVAL, shortestTimeout / 4));
    this.#timer = setInterval(() => this.#check(), interval);
  }

  /**
   * Sets or replaces the deadline of a connection.
   *
   * @param timeout from now, in milliseconds
   * @param onTimeout called instead of destroying the connection
   */
  set(connection: Connection, timeout: number, onTimeout?: () => void): void {
    this.#deadlines.set(connection, { at: performance.now() + timeout, onTimeout });
  }

  /** Gives all connections but some a new deadline, `timeout` milliseconds from now. */
  setAll(timeout: number, except: ReadonlySet<Connection>): void {
    for (const connection of this.#deadlines.keys()) if (!except.has(connection)) this.set(connection, timeout);
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
