/** Finds the failure that a response reports: GraphQL errors, an HTTP error status, or a body that is not GraphQL. */
import * as z from "zod/mini";
import { escapeInvisible, Failure, type FailureCode } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";
import { MAYBE_EXECUTED } from "./network_failure.ts";

/** The parts of a response that show whether the request succeeded. */
export interface GraphqlResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The member `data` of the body; `undefined` if the body does not have it. */
  readonly data?: unknown;
  /** The member `errors` of the body; `undefined` if the body does not have it. */
  readonly errors?: unknown;
}

/**
 * The failure if a response has errors but no `data`. The server then executed nothing (GraphQL specification, section
 * 7.1, "Request errors").
 */
export class RequestRejected extends Failure {}

/**
 * Returns the failure that a response reports with GraphQL errors or with its HTTP status.
 *
 * @returns `undefined` if the request succeeded
 */
export function failureIn(response: GraphqlResponse, endpoint: Endpoint): Failure | undefined {
  const { status, headers, data, errors } = response;
  const hasErrors = errors !== undefined && errors !== null && !(Array.isArray(errors) && errors.length === 0);
  if (hasErrors) {
    const result = z.safeParse(errorList(), errors);
    if (result.success) return errorFailure(result.data, data === undefined, status, endpoint);
  }
  if (status < 200 || status >= 300) return statusFailure(status, headers, endpoint);
  return hasErrors ? badResponse("`errors` is not a list of GraphQL errors", endpoint) : undefined;
}

type ErrorList = readonly { readonly message: string; readonly extensions?: { readonly code?: unknown } | null }[];

function errorList(): z.ZodMiniType<ErrorList> {
  return z.array(z.object({
    message: z.string(),
    extensions: z.exactOptional(z.nullable(z.object({ code: z.exactOptional(z.unknown()) }))),
  }));
}

function errorFailure(errors: ErrorList, isRejected: boolean, status: number, endpoint: Endpoint): Failure {
  const code = errors.map(({ extensions }) => extensions?.code).find(isServerCode) ?? STATUS_CODES.get(status) ??
    "FAILED";
  const message = hideSecrets(errors.map(({ message }) => message).join(" "), endpoint);
  return new (isRejected ? RequestRejected : Failure)(code, withContext(message, code, endpoint));
}

/** Returns the failure for a response that a server with API keys would not send. */
export function badResponse(problem: string, { label }: Endpoint): Failure {
  return new Failure(
    "BAD_RESPONSE",
    `${label} did not answer like a server with API keys: ${problem}. Check --base-url. If it is correct, the server may have executed the request.`,
  );
}

function withContext(message: string, code: FailureCode, { label, keyRemedy }: Endpoint): string {
  if (code === "UNAUTHENTICATED") return `${message} ${keyRemedy}`;
  return code === "UNREACHABLE" || code === "TIMEOUT" ? `${label}: ${message}` : message;
}

/**
 * The error codes that the client adopts from a server. If a response has none of them, the client derives the code
 * from the HTTP status, or uses `FAILED`.
 */
const SERVER_CODES = [
  "INVALID_NAME",
  "ALREADY_EXISTS",
  "NO_RIGHTS",
  "INVALID_ROLE",
  "INVALID_PERMISSION",
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "UNREACHABLE",
  "TIMEOUT",
  // The server may run inside this process. Ctrl-C then interrupts the server too.
  "INTERRUPTED",
] as const satisfies readonly FailureCode[];

function isServerCode(code: unknown): code is typeof SERVER_CODES[number] {
  return SERVER_CODES.some((known) => known === code);
}

const STATUS_CODES: ReadonlyMap<number, FailureCode> = new Map([
  [401, "UNAUTHENTICATED"],
  [403, "FORBIDDEN"],
  [408, "TIMEOUT"],
  [502, "UNREACHABLE"],
  [503, "UNREACHABLE"],
  [504, "TIMEOUT"],
]);

function statusFailure(status: number, headers: Headers, endpoint: Endpoint): Failure {
  const summary = `${endpoint.label} answered with HTTP status ${status}`;
  const location = headers.get("location");
  if (status >= 300 && status < 400) {
    const target = location === null ? "" : ` to ${hideSecrets(location, endpoint)}`;
    return new Failure("BAD_RESPONSE", `${summary}, a redirect${target}. Set --base-url to the new address.`);
  }
  const code = STATUS_CODES.get(status) ?? "BAD_RESPONSE";
  return new Failure(code, `${summary}. ${remedyFor(status, code, endpoint)}`);
}

function remedyFor(status: number, code: FailureCode, { keyRemedy }: Endpoint): string {
  if (code === "UNAUTHENTICATED") return keyRemedy;
  if (code === "FORBIDDEN") return "The key lacks a right, or a proxy in front of the server rejected the request.";
  if (status === 429) return "Try again later.";
  if (status < 500 && code === "BAD_RESPONSE") return "Is there a GraphQL server at --base-url?";
  return `Check the server; ${MAYBE_EXECUTED}.`;
}

/** The minimum length of a header value that is hidden. A shorter value may be an ordinary word of the message. */
const SHORTEST_SECRET = 8;

/** The maximum length of a server's text in a message, in UTF-16 code units. */
const LONGEST_MESSAGE = 2000;

/** Makes a server's text safe to print: hides the values of request headers, and escapes invisible characters. */
function hideSecrets(text: string, endpoint: Endpoint): string {
  const secrets = [...endpoint.headers.values()].flatMap((value) => [value, value.replace(/^Bearer /, "")]);
  const hidden = secrets.filter((secret) => secret.length >= SHORTEST_SECRET).reduce(
    (shown, secret) => shown.replaceAll(secret, "…"),
    text,
  );
  return escapeInvisible(hidden.replace(/\s+/g, " ")).slice(0, LONGEST_MESSAGE);
}
