/**
 * What the server reports for the metrics of `--metrics-port`. Without the flag, there is no observer, and the server
 * measures nothing.
 */
import type { Rejection } from "../../apikey/rejected_key.ts";
import type { Trace } from "./tracing.ts";

/**
 * The outcome of a check at `/verify`: `valid` (204 or 200), no key or one that the server rejects (401), a valid key that
 * lacks a right (403), an invalid request (400), or a server or store that fails (500 or 503).
 */
export type VerificationOutcome =
  | "valid"
  | "missing_key"
  | Rejection
  | "insufficient_scope"
  | "invalid_request"
  | "unavailable";

export interface Observer {
  /**
   * Called once for each request.
   *
   * @param path the path without the query, as the client sent it
   * @param seconds the time from the headers of the request to its response
   */
  readonly request: (path: string, status: number, seconds: number) => void;
  /** Called once for each check of a key at `/verify`. */
  readonly verification: (outcome: VerificationOutcome) => void;
  /** Runs an operation of the store and measures how long it takes. */
  readonly store: Trace;
}
