/** Turns errors into responses. Logs the details that clients must not see, and omits them from the response. */
import { GraphQLError } from "graphql";
import { Failure, type FailureCode } from "../../apikey/failure.ts";
import { KeyRejected } from "../../apikey/rejected_key.ts";
import { TooManyFailures } from "../auth/authenticator.ts";
import type { LogError } from "../telemetry/log_error.ts";
import { HttpError, type HttpRequest, type HttpResponse, responseHeaders } from "./http_message.ts";

export interface ErrorOptions {
  /** Whether clients may see errors of the store. These errors contain the path or the host of the store. */
  readonly exposeStoreErrors: boolean;
  readonly logError: LogError;
}

/** The codes of errors that mean that the store is unavailable. */
const UNAVAILABLE: readonly unknown[] = ["UNREACHABLE", "TIMEOUT"] satisfies readonly FailureCode[];

/** Asks the client to wait one second before it sends the request again. */
const RETRY_AFTER = { "retry-after": "1" };

/** Returns the code of a `Failure`, `USAGE` if the request is invalid, or `FAILED` if the error is unexpected. */
export function codeOf(error: Error): FailureCode {
  // `graphql-http` reports a malformed request as a plain `Error`. graphql-js wraps the error of a
  // resolver in a `GraphQLError`.
  if (!(error instanceof GraphQLError)) return "USAGE";
  const cause = error.originalError ?? error;
  if (cause instanceof GraphQLError) return "USAGE";
  return cause instanceof Failure ? cause.code : "FAILED";
}

/** Returns the error that clients see, with its code in the extensions. Logs the details that clients do not see. */
export function toPublicError(error: Error, { exposeStoreErrors, logError }: ErrorOptions): GraphQLError {
  const code = codeOf(error);
  const cause = error instanceof GraphQLError ? error.originalError ?? error : error;
  const mayHaveExecuted = cause instanceof Failure && cause.mayHaveExecuted;
  const extensions = {
    code,
    ...cause instanceof KeyRejected && { reason: cause.reason },
    ...mayHaveExecuted && { mayHaveExecuted },
  };
  const isUnexpected = code === "FAILED" && !(cause instanceof Failure);
  if (isUnexpected || (UNAVAILABLE.includes(code) && !exposeStoreErrors)) {
    logError("A request failed: {error}", { error: cause });
    const outcome = mayHaveExecuted ? " The request may have taken effect." : "";
    const message = isUnexpected
      ? "The server failed unexpectedly. Its log has the details."
      : `The server cannot reach its store. Its log has the details.${outcome} Try again later.`;
    return new GraphQLError(message, { extensions });
  }
  if (!(error instanceof GraphQLError)) return new GraphQLError(error.message, { extensions });
  const { message, nodes = null, source, positions, path } = error;
  return new GraphQLError(message, { nodes, source, positions, path, extensions });
}

/** Returns status 503 (RFC 9110 section 15.6.4) and its headers if a code means that the store is unavailable. */
export function unavailable(code: FailureCode | undefined): Pick<HttpResponse, "status" | "headers"> | undefined {
  return UNAVAILABLE.includes(code) ? { status: 503, headers: RETRY_AFTER } : undefined;
}

/** Returns the response to a request that fails before GraphQL executes it. */
export function toErrorResponse(thrown: unknown, request: HttpRequest, options: ErrorOptions): HttpResponse {
  const originalError = thrown instanceof Error ? thrown : new Error(String(thrown));
  const wrapped = new GraphQLError(originalError.message, { originalError });
  const code = codeOf(wrapped);
  const { status, headers } = statusOf(originalError, code, request);
  return {
    status,
    headers: { ...responseHeaders(request), ...headers },
    body: JSON.stringify({ errors: [toPublicError(wrapped, options)] }),
    code,
  };
}

/** Returns the status and headers of an error. A 401 says whether the request had a key (RFC 6750 section 3.1). */
function statusOf(error: Error, code: FailureCode, request: HttpRequest): Pick<HttpResponse, "status" | "headers"> {
  if (error instanceof HttpError) return error;
  if (error instanceof TooManyFailures) return { status: 429, headers: { "retry-after": String(error.retryAfter) } };
  if (code === "UNAUTHENTICATED") {
    const sentKey = /^\s*bearer +\S/i.test(request.header("authorization") ?? "");
    const reason = sentKey ? ', error="invalid_token"' : "";
    return { status: 401, headers: { "www-authenticate": `Bearer realm="service-api"${reason}` } };
  }
  return unavailable(code) ?? { status: 500, headers: {} };
}
