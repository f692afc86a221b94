/**
 * What the server reports for the metrics of `--metrics-port`. Without the flag, there is no observer, and the server
 * measures nothing.
 */
import type { Rejection } from "../../apikey/rejected_key.ts";

/**
 * The outcome of a check at `/verify`: `valid` (204), no key or one that the server rejects (401), a valid key that lacks
 * a right (403), a request that the server cannot check (400), or a store that does not answer (503).
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
  /** Called once for each operation of the store. */
  readonly store: (operation: string, seconds: number) => void;
}
