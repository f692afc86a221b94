/**
 * ConnectionTimeouts that take too long. Who sends a request byte by byte, or nothing at all, is cut off; who takes too long
 * with a request is told so first.
 */

/** What matters here of a connection. */
export interface Connection {
  destroy(): unknown;
}

interface Watch {
  /** In milliseconds of the monotonic clock. */
  readonly until: number;
  /** Told when the time is over; whoever is not told is cut off. */
  readonly late?: (() => void) | undefined;
}

export class ConnectionTimeouts {
  readonly #watched = new Map<Connection, Watch>();
  readonly #timer: ReturnType<typeof setInterval>;

  /** @param interval how often they are looked at, in milliseconds */
  constructor(interval: number) {
    this.#timer = setInterval(() => this.#cutOff(), interval);
  }

  /**
   * Watches a connection, from now on by these terms.
   *
   * @param limit in milliseconds
   * @param late called in place of cutting it off
   */
  watch(connection: Connection, limit: number, late?: () => void): void {
    this.#watched.set(connection, { until: performance.now() + limit, late });
  }

  /** Gives all but some of them no more time than this, in milliseconds. */
  hurry(limit: number, except: ReadonlySet<Connection>): void {
    for (const connection of this.#watched.keys()) if (!except.has(connection)) this.watch(connection, limit);
  }

  forget(connection: Connection): void {
    this.#watched.delete(connection);
  }

  /** Cuts off all of them. */
  end(): void {
    clearInterval(this.#timer);
    for (const connection of this.#watched.keys()) connection.destroy();
    this.#watched.clear();
  }

  #cutOff(): void {
    const now = performance.now();
    for (const [connection, { until, late }] of this.#watched) {
      if (until > now) continue;
      this.#watched.delete(connection);
      if (late === undefined) connection.destroy();
      else late();
    }
  }
}
