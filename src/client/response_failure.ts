/** Finds the failure that a server's answer reports: GraphQL errors, an HTTP status, or an answer that is not GraphQL. */
import * as z from "zod/mini";
import { escapeInvisible, Failure, type FailureCode } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";
import { MAYBE_EXECUTED } from "./network_failure.ts";

/** An answer, as far as it tells whether the request succeeded. */
export interface GraphqlAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The member of the body; `undefined` if it is missing. */
  readonly data?: unknown;
  /** The member of the body; `undefined` if it is missing. */
  readonly errors?: unknown;
}

/**
 * The server rejected a request as a whole: the answer has errors and no `data`, so nothing was executed (GraphQL
 * specification, section 7.1, "Request errors").
 */
export class RequestRejected extends Failure {}

/**
 * The failure that an answer reports, by its GraphQL errors and its HTTP status.
 *
 * @returns `undefined` if the request succeeded
 */
export function failureIn(answer: GraphqlAnswer, endpoint: Endpoint): Failure | undefined {
  const { status, headers, data, errors } = answer;
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

/** The failure for an answer that no server with API keys gives. */
export function badResponse(problem: string, { label }: Endpoint): Failure {
  return new Failure(
    "BAD_RESPONSE",
    `${label} did not answer like a server with API keys: ${problem}. Check --base-url. If it is right, ${MAYBE_EXECUTED}.`,
  );
}

function withContext(message: string, code: FailureCode, { label, keyRemedy }: Endpoint): string {
  if (code === "UNAUTHENTICATED") return `${message} ${keyRemedy}`;
  return code === "UNREACHABLE" || code === "TIMEOUT" ? `${label}: ${message}` : message;
}

/** The codes that a server may give. The other codes describe this side. */
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
  // The embedded server runs in this process, which the same Ctrl-C interrupts.
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

/** Shorter header values are ordinary words. */
const SHORTEST_SECRET = 8;

/** Longer messages are cut, in UTF-16 code units. */
const LONGEST_MESSAGE = 2000;

/** Makes a server's text safe to print: without secrets from the headers, control characters and line breaks. */
function hideSecrets(text: string, endpoint: Endpoint): string {
  const secrets = [...endpoint.headers.values()].flatMap((value) => [value, value.replace(/^Bearer /, "")]);
  const hidden = secrets.filter((secret) => secret.length >= SHORTEST_SECRET).reduce(
    (shown, secret) => shown.replaceAll(secret, "…"),
    text,
  );
  return escapeInvisible(hidden.replace(/\s+/g, " ")).slice(0, LONGEST_MESSAGE);
}
