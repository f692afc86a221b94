/** The requests that the server has not answered yet. */

export interface PendingRequest {
  /** Set and used only by `PendingRequests`. */
  pendingIndex: number;
  /** When the server must answer the request, by `performance.now`. */
  readonly deadline: number;
  /** Returns whether the client still waits for the response. */
  isConnected(): boolean;
  /** Answers the request with an error that says that it took too long. */
  answerLate(): void;
  /** Answers the request with an error that says that the server is stopping. */
  answerStopped(): void;
}

/**
 * An unordered collection. A `Set` would move a quarter of the memory of all requests to the old generation of V8, because
 * each table that a `Set` has replaced refers to the next one.
 */
export class PendingRequests {
  readonly #requests: PendingRequest[] = [];

  get size(): number {
    return this.#requests.length;
  }

  add(request: PendingRequest): void {
    request.pendingIndex = this.#requests.push(request) - 1;
  }

  /** Does nothing if the request is not in the collection. */
  delete(request: PendingRequest): void {
    const last = this.#requests.at(-1);
    if (last === undefined || this.#requests[request.pendingIndex] !== request) return;
    last.pendingIndex = request.pendingIndex;
    this.#requests[request.pendingIndex] = last;
    this.#requests.pop();
  }

  /** Answers the requests whose deadline has passed with an error. */
  answerLate(now: number): void {
    for (const request of this.#requests.filter(({ deadline }) => deadline <= now)) request.answerLate();
  }

  /** Answers all requests with an error, and returns how many of their clients still waited. */
  answerAll(): number {
    const requests = [...this.#requests];
    const waiting = requests.filter((request) => request.isConnected()).length;
    for (const request of requests) request.answerStopped();
    return waiting;
  }
}
