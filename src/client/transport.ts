/** Sends one request to a server and reads the response. Stops at the timeout, or if the user interrupts the program. */
import { Failure, NOTHING_CHANGED } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";
import { MAYBE_EXECUTED, networkFailure } from "./network_failure.ts";

/** A response whose whole body was read. */
export interface ReadResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/**
 * Posts a JSON body and reads the response, even if its status is an error. Does not follow redirects, because the key
 * must not reach another host.
 *
 * @throws {Failure} `UNREACHABLE`, `TLS`, `TIMEOUT`, `BAD_RESPONSE` (the response is not HTTP) or `INTERRUPTED`
 */
export async function post(endpoint: Endpoint, body: string): Promise<ReadResponse> {
  const { url, timeout, interrupted } = endpoint;
  if (interrupted.aborted) throw new Failure("INTERRUPTED", NOTHING_CHANGED);
  const headers = new Headers([
    ...endpoint.headers,
    ["accept", "application/graphql-response+json, application/json"],
    ["content-type", "application/json"],
  ]);
  const deadline = AbortSignal.timeout(timeout);
  const signal = AbortSignal.any([deadline, interrupted]);
  endpoint.debug("POST {url} with {length} characters and headers {names}", {
    url,
    length: body.length,
    names: [...headers.keys()],
  });
  try {
    const response = await endpoint.fetch(
      new Request(url, { method: "POST", headers, body, signal, redirect: "manual" }),
    );
    const text = await response.text();
    endpoint.debug("HTTP status {status} with {length} characters", { status: response.status, length: text.length });
    return { status: response.status, headers: response.headers, body: text };
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (interrupted.aborted) {
      throw new Failure("INTERRUPTED", "Interrupted during the request: the server may have executed it.");
    }
    if (deadline.aborted) {
      throw new Failure(
        "TIMEOUT",
        `${endpoint.label} did not answer within ${
          timeout / 1000
        } s; ${MAYBE_EXECUTED}. Raise --timeout, or check the ` +
          "server.",
      );
    }
    throw networkFailure(endpoint, error);
  }
}
