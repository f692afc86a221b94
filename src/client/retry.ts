/**
 * Repeats requests to servers that lag. Such a server keeps its keys in memory and sees a change of its files up to 2 s
 * later. While it reloads them, it may reject a valid key.
 */
import { Failure, NOTHING_CHANGED, toSentence } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";
import { RequestRejected } from "./response_failure.ts";

/** How long to repeat a failed request, in milliseconds. Longer than servers lag. */
const RETRY_TIME = 3000;

/** The time between two requests, in milliseconds. It doubles with each request. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 500;

/** The failures after which the server has not executed the request. */
const NOT_EXECUTED: ReadonlySet<string> = new Set(["UNAUTHENTICATED", "RATE_LIMITED"]);

/** The failures that may end by themselves. After some of them, the server may have executed the request. */
const TEMPORARY: ReadonlySet<string> = new Set([
  ...NOT_EXECUTED,
  "FAILED",
  "UNREACHABLE",
  "TIMEOUT",
  "BAD_RESPONSE",
]);

/** Whether the server definitely rejected the request: it lacks a field, or the caller lacks a right, for example. */
export function isRefusal(failure: Failure): boolean {
  if (failure.code === "FAILED") return failure instanceof RequestRejected;
  return !(TEMPORARY.has(failure.code) || failure.code === "TLS" || failure.code === "INTERRUPTED");
}

/** Whether the server definitely did not execute the request. */
export function wasNotExecuted(failure: Failure): boolean {
  return isRefusal(failure) || NOT_EXECUTED.has(failure.code);
}

/** Repeats a request that may be executed twice, for up to 3 s or `timeout`, while it fails temporarily. */
export async function retry<Result>(endpoint: Endpoint, request: () => Promise<Result>): Promise<Result> {
  return await retryWhile((failure) => TEMPORARY.has(failure.code) && !isRefusal(failure), endpoint, request);
}

/** Like {@linkcode retry}, but repeats the request only if the server has not executed it. */
export async function retryIfNotExecuted<Result>(
  endpoint: Endpoint,
  request: () => Promise<Result>,
): Promise<Result> {
  return await retryWhile((failure) => NOT_EXECUTED.has(failure.code), endpoint, request);
}

async function retryWhile<Result>(
  isTemporary: (failure: Failure) => boolean,
  endpoint: Endpoint,
  request: () => Promise<Result>,
): Promise<Result> {
  const repeating = repeatWhile(isTemporary, endpoint, request);
  return await (endpoint.showWaiting?.(repeating) ?? repeating);
}

async function repeatWhile<Result>(
  isTemporary: (failure: Failure) => boolean,
  endpoint: Endpoint,
  request: () => Promise<Result>,
): Promise<Result> {
  const end = performance.now() + Math.min(RETRY_TIME, endpoint.timeout);
  for (let time = FIRST_PAUSE;; time *= 2) {
    try {
      // deno-lint-ignore no-await-in-loop -- one request after the other
      return await request();
    } catch (error) {
      if (!(error instanceof Failure && isTemporary(error)) || performance.now() > end) throw error;
      endpoint.debug("{message} Trying again.", { message: error.message });
    }
    // deno-lint-ignore no-await-in-loop -- one request after the other
    await pause(time, endpoint);
  }
}

/**
 * Repeats a request until its result satisfies a condition, for up to `limit`.
 *
 * @param limit milliseconds; 0 for one request
 * @returns the last result, whether or not it satisfies the condition
 */
export async function poll<Result>(
  endpoint: Endpoint,
  request: () => Promise<Result>,
  isDone: (result: Result) => boolean,
  limit: number = endpoint.timeout,
): Promise<Result> {
  const polling = repeatUntil(endpoint, request, isDone, limit);
  return await (endpoint.showWaiting?.(polling) ?? polling);
}

async function repeatUntil<Result>(
  endpoint: Endpoint,
  request: () => Promise<Result>,
  isDone: (result: Result) => boolean,
  limit: number,
): Promise<Result> {
  const end = performance.now() + limit;
  for (let time = FIRST_PAUSE;; time *= 2) {
    // deno-lint-ignore no-await-in-loop -- one request after the other
    const result = await request();
    if (isDone(result) || performance.now() >= end) return result;
    // deno-lint-ignore no-await-in-loop -- one request after the other
    await pause(time, endpoint);
  }
}

/** @throws {Failure} `INTERRUPTED` */
async function pause(time: number, { interrupted, debug }: Endpoint): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const delay = Math.min(time, LONGEST_PAUSE);
  debug("Waiting {delay} ms before the next request.", { delay });
  const timer = setTimeout(resolve, delay);
  const stop = (): void => resolve();
  interrupted.addEventListener("abort", stop);
  if (!interrupted.aborted) await promise;
  interrupted.removeEventListener("abort", stop);
  clearTimeout(timer);
  if (interrupted.aborted) throw new Failure("INTERRUPTED", NOTHING_CHANGED);
}

/** The same server, for the requests that clean up after a failure. The user cannot interrupt them; they end after 3 s. */
export function forCleanUp(endpoint: Endpoint): Endpoint {
  return {
    ...endpoint,
    interrupted: new AbortController().signal,
    timeout: Math.min(RETRY_TIME, endpoint.timeout),
  };
}

/** Returns the failure of a task, or `undefined` if the task succeeds. */
export async function failureOf(task: Promise<unknown>): Promise<Failure | undefined> {
  try {
    await task;
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** The failure as a sentence. Omits what an interruption left, because the next sentence says what exists now. */
export function describeFailure(failure: Failure): string {
  return failure.code === "INTERRUPTED" ? "Interrupted." : toSentence(failure.message);
}
