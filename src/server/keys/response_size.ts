/**
 * Limits the size of responses, because the server builds each response in memory. The size is an estimate: the UTF-16
 * code units of all names and values, and some punctuation. `graphql/measure_fields.ts` adds up the fields.
 */
import { Failure } from "../../apikey/failure.ts";

/** How many of the largest responses may be in memory at the same time. */
const PARALLEL_RESPONSES = 4;

/** A response of this size is never refused because of other responses. */
const SMALL_RESPONSE = 1_000_000;

/** The size of one response. */
export interface ResponseSize {
  /** Adds to the size. Returns false if the response is too large, or if all responses together are. */
  readonly add: (size: number) => boolean;
  /**
   * Runs the reads of one response one after the other, because rows count only after they were read. Between two reads,
   * other requests can run.
   *
   * @throws {Failure} `failure` if the response is already too large
   */
  readonly readInTurn: <Result>(read: () => Promise<Result>) => Promise<Result>;
  /** The reason if `add` has returned false. */
  readonly failure: () => Failure | undefined;
  /** Call this when the response is no longer in memory. */
  readonly release: () => void;
}

/**
 * Returns a function that starts to measure a response.
 *
 * @param limit the largest size of a response; `Infinity` for no limit
 */
export function createResponseSizes(limit: number): () => ResponseSize {
  let total = 0;
  return () => {
    let size = 0;
    let failure: Failure | undefined;
    let lastRead: Promise<unknown> | undefined;
    return {
      readInTurn: (read) => {
        const previous = lastRead;
        const result = previous === undefined ? read() : previous.then(async () => {
          if (failure === undefined) await nextTask();
          if (failure !== undefined) throw failure;
          return await read();
        });
        lastRead = result.catch(() => {});
        return result;
      },
      add: (more) => {
        size += more;
        total += more;
        if (failure !== undefined) return false;
        if (size > limit) failure = tooLarge(limit);
        else if (size > SMALL_RESPONSE && total > limit * PARALLEL_RESPONSES) failure = tooBusy();
        return failure === undefined;
      },
      failure: () => failure,
      release: () => {
        total -= size;
        size = 0;
      },
    };
  };
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
