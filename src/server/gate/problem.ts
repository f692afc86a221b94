/** Why the gate refuses a request or cannot answer it: the status, and what the client and the operator see. */
import { Failure, type FailureCode } from "../../apikey/failure.ts";
import type { Permission } from "../../apikey/permission.ts";
import { KeyRejected } from "../../apikey/rejected_key.ts";
import { TooManyFailures } from "../auth/authenticator.ts";
import { unavailable } from "../graphql/errors.ts";
import { HttpError, type HttpResponse } from "../graphql/http_message.ts";
import type { LogError } from "../telemetry/log_error.ts";
import { challenge } from "./challenge.ts";

/** The error if a valid key lacks a permission that a request needs. */
export class InsufficientScope extends Failure {
  readonly headers: HttpResponse["headers"];

  /**
   * @param needs all permissions that the request needs
   * @param missing those that the key lacks
   */
  constructor(readonly status: 401 | 403, needs: readonly Permission[], missing: readonly Permission[]) {
    super("FORBIDDEN", `This request needs ${missing.join(" and ")}, which the key lacks.`);
    this.headers = challenge("insufficient_scope", needs);
  }
}

export interface Problem extends Pick<HttpResponse, "status" | "headers"> {
  readonly code: FailureCode;
  /** What the client may see. */
  readonly message: string;
}

/** The answer to a request whose key is not valid. */
const KEY_REJECTED = { status: 401, headers: challenge("invalid_token") };

/** Describes an error that a handler of the gate throws. Logs errors whose details clients must not see. */
export function problemOf(error: unknown, logError: LogError): Problem {
  if (!(error instanceof Failure)) {
    logError("A request failed: {error}", { error });
    const message = "The server failed unexpectedly. Its log has the details.";
    return { status: 500, headers: {}, code: "FAILED", message };
  }
  const { code, message } = error;
  const outage = unavailable(code);
  if (outage !== undefined) {
    logError("A request failed: {error}", { error });
    return { ...outage, code, message: "The server cannot reach its store. Its log has the details. Try again later." };
  }
  return { ...refusalOf(error), code, message };
}

/** Returns the status and headers for a request that the server refuses. */
function refusalOf(error: Failure): Pick<HttpResponse, "status" | "headers"> {
  if (error instanceof KeyRejected) return KEY_REJECTED;
  if (error instanceof HttpError || error instanceof InsufficientScope) return error;
  if (error instanceof TooManyFailures) return { status: 429, headers: { "retry-after": String(error.retryAfter) } };
  if (error.code !== "UNAUTHENTICATED") return { status: 400, headers: {} };
  return { status: 401, headers: challenge() };
}
