/** Sends one request to a server and reads the response. Stops at the timeout, or if the user interrupts the program. */
import { Failure, NOTHING_CHANGED } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";
import { maybeExecuted, networkFailure } from "./network_failure.ts";

/** A response whose whole body was read. */
export interface ReadResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** Whether the request can change something on the server. A GraphQL query cannot. */
  readonly mayChange: boolean;
}

/**
 * Posts a JSON body and reads the response, even if its status is an error. Does not follow redirects, because the key
 * must not reach another host.
 *
 * @param mayChange whether the request can change something on the server. If it can, the message of a failure says if
 * the server may have executed it.
 * @throws {Failure} `UNREACHABLE`, `TLS`, `TIMEOUT`, `BAD_RESPONSE` (the response is not HTTP, or too large) or
 * `INTERRUPTED`
 */
export async function post(endpoint: Endpoint, body: string, mayChange: boolean): Promise<ReadResponse> {
  const { url, timeout, interrupted } = endpoint;
  if (interrupted.aborted) throw new Failure("INTERRUPTED", NOTHING_CHANGED);
  const headers = new Headers([
    ...endpoint.headers,
    ["accept", "application/graphql-response+json, application/json"],
    ["content-type", "application/json"],
  ]);
  // Not AbortSignal.timeout: it would keep the memory of the request until the time is over.
  const aborting = new AbortController();
  let isTimedOut = false;
  const timer = setTimeout(() => {
    isTimedOut = true;
    aborting.abort();
  }, timeout);
  const abort = (): void => aborting.abort();
  interrupted.addEventListener("abort", abort);
  let response: Response | undefined;
  try {
    response = await endpoint.fetch(
      new Request(url, { method: "POST", headers, body, signal: aborting.signal, redirect: "manual" }),
    );
    const text = await readText(response, endpoint, mayChange);
    if (hasTooManyContainers(text, endpoint)) throw tooLarge(endpoint, mayChange, "has too many lists and objects");
    return { status: response.status, headers: response.headers, body: text, mayChange };
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (interrupted.aborted) {
      throw new Failure(
        "INTERRUPTED",
        mayChange ? "Interrupted during the request: the server may have executed it." : NOTHING_CHANGED,
        { mayHaveExecuted: mayChange },
      );
    }
    if (isTimedOut) {
      throw new Failure(
        "TIMEOUT",
        `${endpoint.label} did not answer within ${timeout / 1000} s.${maybeExecuted(mayChange)} ` +
          "Raise --timeout, or check the server.",
        { mayHaveExecuted: mayChange },
      );
    }
    throw networkFailure(endpoint, error, { mayChange, hasResponse: response !== undefined });
  } finally {
    clearTimeout(timer);
    interrupted.removeEventListener("abort", abort);
  }
}

/**
 * Reads the body as UTF-8.
 *
 * @throws {Failure} `BAD_RESPONSE` if the decompressed body is larger than `maxResponseSize`
 */
async function readText(response: Response, endpoint: Endpoint, mayChange: boolean): Promise<string> {
  const { maxResponseSize } = endpoint;
  const { headers, body } = response;
  // Reading without a stream saves 2 ms. The HTTP client enforces the length unless the body is encoded.
  const isEncoded = headers.has("content-encoding") || headers.has("transfer-encoding");
  const length = isEncoded ? Infinity : Number(headers.get("content-length") ?? Infinity);
  if (body === null || length <= maxResponseSize) return await response.text();

  const reader = body.getReader({ mode: "byob" });
  try {
    let memory: Uint8Array<ArrayBuffer> = new Uint8Array(FIRST_BLOCK);
    let size = 0;
    while (true) {
      // deno-lint-ignore no-await-in-loop -- each read continues where the last one stopped
      const { done, value } = await reader.read(memory.subarray(size));
      if (value !== undefined) memory = new Uint8Array(value.buffer);
      if (done) return new TextDecoder().decode(memory.subarray(0, size));
      size += value.length;
      if (size > maxResponseSize) throw tooLarge(endpoint, mayChange);
      if (size === memory.length) {
        const larger = new Uint8Array(maxResponseSize + 1);
        larger.set(memory);
        memory = larger;
      }
    }
  } finally {
    await reader.cancel();
  }
}

/**
 * The bytes of memory for the start of a body. The rest is read into one block that can hold the largest body. The
 * system provides the pages of the block only when they are used. Growing in steps would need both the old and the new
 * block at the same time.
 */
const FIRST_BLOCK = 65_536;

/**
 * How many bytes a response must have for each list or object, on average. `{},` has 3 bytes, but needs about 100 bytes of
 * memory. In a list of keys, there are at least 45 bytes for each object.
 */
const BYTES_PER_CONTAINER = 32;

/**
 * Returns whether a response is small enough, but would need too much memory and time to parse. Also counts brackets in
 * strings, because telling them apart would take longer.
 */
function hasTooManyContainers(text: string, { maxResponseSize }: Endpoint): boolean {
  const max = maxResponseSize / BYTES_PER_CONTAINER;
  if (text.length <= max) return false;
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === OPENING_BRACE || unit === OPENING_BRACKET) count++;
  }
  return count > max;
}

const OPENING_BRACE = 0x7b;
const OPENING_BRACKET = 0x5b;

function tooLarge({ label, maxResponseSize }: Endpoint, mayChange: boolean, problem?: string): Failure {
  return new Failure(
    "BAD_RESPONSE",
    `The response from ${label} ${problem ?? `is larger than ${maxResponseSize / 1_000_000} MB`}.` +
      `${maybeExecuted(mayChange)} If you expect such a response, raise --max-response-size.`,
    { mayHaveExecuted: mayChange },
  );
}
