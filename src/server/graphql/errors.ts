/** What callers are told of an error, and with which status of HTTP. */
import { GraphQLError } from "graphql";
import { Failure, type FailureCode } from "../../apikey/failure.ts";
import { TooManyFailures } from "../auth/authenticator.ts";
import { type GraphqlRequest, type GraphqlResponse, headersFor, HttpRefusal, type LogSink } from "./messages.ts";

/** To whom errors are told. */
export interface Audience {
  /** Whether callers may know where the store lies and what ails it: the local caller may. */
  readonly isLocal: boolean;
  /** Told of errors that callers are not told of. */
  readonly logError: LogSink;
}

/** The codes of a store that is away. */
const AWAY: readonly unknown[] = ["UNREACHABLE", "TIMEOUT"] satisfies readonly FailureCode[];

/** Seconds after which it is worth while to ask a store again that is away. */
const RETRY_AFTER = { "retry-after": "1" };

/** What an error is by the table of failures; `USAGE` when the request itself was at fault. */
export function codeOf(error: Error): FailureCode {
  // `graphql-http` reports a malformed request as a plain `Error`; what a resolver throws comes in a `GraphQLError`.
  if (!(error instanceof GraphQLError)) return "USAGE";
  const reason = error.originalError ?? error;
  if (reason instanceof GraphQLError) return "USAGE";
  return reason instanceof Failure ? reason.code : "FAILED";
}

/** What callers may know of an error, with its code in its extensions. */
export function toPublicError(error: Error, { isLocal, logError }: Audience): GraphQLError {
  const code = codeOf(error);
  const reason = error instanceof GraphQLError ? error.originalError ?? error : error;
  if (code === "FAILED" || (AWAY.includes(code) && !isLocal)) {
    logError("A request failed: {reason}", { reason });
    const message = code === "FAILED"
      ? "The server failed inside; its log says why."
      : "The server cannot use its store now; its log says why. Try again later.";
    return new GraphQLError(message, { extensions: { code } });
  }
  if (!(error instanceof GraphQLError)) return new GraphQLError(error.message, { extensions: { code } });
  const { message, nodes = null, source, positions, path } = error;
  return new GraphQLError(message, { nodes, source, positions, path, extensions: { code } });
}

/** Headers and status for an operation that came to nothing because the store is away (RFC 9110 section 15.6.4). */
export function unavailable(code: FailureCode | undefined): Pick<GraphqlResponse, "status" | "headers"> | undefined {
  return AWAY.includes(code) ? { status: 503, headers: RETRY_AFTER } : undefined;
}

/** Answers a request that did not get as far as GraphQL. */
export function refuse(reason: unknown, request: GraphqlRequest, audience: Audience): GraphqlResponse {
  const originalError = reason instanceof Error ? reason : new Error(String(reason));
  const wrapped = new GraphQLError(originalError.message, { originalError });
  const error = toPublicError(wrapped, audience);
  const code = codeOf(wrapped);
  const { status, headers } = statusOf(originalError, code);
  return { status, headers: { ...headersFor(request), ...headers }, body: JSON.stringify({ errors: [error] }), code };
}

function statusOf(reason: Error, code: FailureCode): Pick<GraphqlResponse, "status" | "headers"> {
  if (reason instanceof HttpRefusal) return reason;
  if (reason instanceof TooManyFailures) return { status: 429, headers: { "retry-after": String(reason.retryAfter) } };
  if (code === "UNAUTHENTICATED") {
    return { status: 401, headers: { "www-authenticate": 'Bearer realm="service-api"' } };
  }
  return unavailable(code) ?? { status: 500, headers: {} };
}
