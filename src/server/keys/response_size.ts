/**
 * Limits the size of responses, because the server builds each response in memory. The size is an estimate: the UTF-16
 * code units of all names and values, and some punctuation. `graphql/measure_fields.ts` adds up the fields.
 */
import { Failure } from "../../apikey/failure.ts";

/** How many of the largest responses may be in memory at the same time. */
const PARALLEL_RESPONSES = 4;

/** A response of this size is never refused because of other responses. */
const SMALL_RESPONSE = 1_000_000;

/** The sizes of all responses that are in memory. */
export class ResponseSizes {
  /** The largest size of a response; `Infinity` for no limit. */
  readonly limit: number;
  total = 0;

  constructor(limit: number) {
    this.limit = limit;
  }
}

/**
 * The size of one response.
 *
 * This is a class because each call of a method of a new closure leaves a reference to the closure in V8's old
 * generation. There, the closures of all requests, and all that they refer to, would stay until a full collection.
 */
export class ResponseSize {
  readonly #all: ResponseSizes;
  #size = 0;
  #failure: Failure | undefined;
  #lastRead: Promise<void> | undefined;

  constructor(all: ResponseSizes) {
    this.#all = all;
  }

  /** The reason if `add` has returned false. */
  get failure(): Failure | undefined {
    return this.#failure;
  }

  /** Adds to the size. Returns false if the response is too large, or if all responses together are. */
  add(more: number): boolean {
    const all = this.#all;
    this.#size += more;
    all.total += more;
    if (this.#failure !== undefined) return false;
    if (this.#size > all.limit) this.#failure = tooLarge(all.limit);
    else if (this.#size > SMALL_RESPONSE && all.total > all.limit * PARALLEL_RESPONSES) this.#failure = tooBusy();
    return this.#failure === undefined;
  }

  /**
   * Runs the reads of one response one after the other, because rows count only after they were read. Between two reads,
   * other requests can run.
   *
   * @throws {Failure} `failure` if the response is already too large
   */
  readInTurn<Result>(read: () => Promise<Result>): Promise<Result> {
    const result = this.#lastRead === undefined ? read() : this.#readAfter(this.#lastRead, read);
    this.#lastRead = result.then(() => {}, () => {});
    return result;
  }

  async #readAfter<Result>(previous: Promise<void>, read: () => Promise<Result>): Promise<Result> {
    await previous;
    if (this.#failure === undefined) await nextTask();
    if (this.#failure !== undefined) throw this.#failure;
    return await read();
  }

  /** Call this when the response is no longer in memory. */
  release(): void {
    this.#all.total -= this.#size;
    this.#size = 0;
  }
}

function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

function tooLarge(limit: number): Failure {
  return new Failure(
    "USAGE",
    `The response is too large: the limit is ${limit / 1e6} MB. Select fewer fields, or fewer keys or events.`,
  );
}

function tooBusy(): Failure {
  return new Failure("UNREACHABLE", "The server is sending too many large responses. Try again later.");
}
