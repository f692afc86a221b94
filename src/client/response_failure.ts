/** Finds the failure that a response reports: GraphQL errors, an HTTP error status, or a body that is not GraphQL. */
import * as z from "zod/mini";
import { escapeInvisible, Failure, type FailureCode, toSentence } from "../apikey/failure.ts";
import { isRejection, KeyRejected, type Rejection } from "../apikey/rejected_key.ts";
import type { Endpoint } from "./endpoint.ts";
import { maybeExecuted, URL_SETTING } from "./network_failure.ts";
import type { ReadResponse } from "./transport.ts";

/** A response, and the parts of its body that show whether the request succeeded. */
export interface GraphqlResponse extends ReadResponse {
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
 * The failure if the server does not accept a key that was sent as a bearer token, and does not ask for a bearer token
 * either (RFC 9110 section 11.6.1). It may expect the bare key in another header.
 */
export class BearerRefused extends Failure {}

/**
 * The failure if a GraphQL error has the code `FORBIDDEN`: the server accepts the key, but the key lacks a right. Status
 * 403 alone does not mean this. A proxy can send it, and some servers send it for a key that is not valid.
 */
export class RightMissing extends Failure {}

/** The header that servers with API keys usually expect if they do not expect a bearer token, in lower case. */
export const USUAL_KEY_HEADER = "x-api-key";

/**
 * Returns the failure that a response reports with GraphQL errors or with its HTTP status.
 *
 * @returns `undefined` if the request succeeded
 */
export function failureIn(response: GraphqlResponse, endpoint: Endpoint): Failure | undefined {
  const { status, errors } = response;
  const hasErrors = errors !== undefined && errors !== null && !(Array.isArray(errors) && errors.length === 0);
  if (hasErrors) {
    const result = z.safeParse(errorList(), errors);
    if (result.success) return errorFailure(result.data, isRequestError(response), response, endpoint);
  }
  if (status < 200 || status >= 300) return statusFailure(response, endpoint);
  return hasErrors ? badResponse("`errors` is not a list of GraphQL errors", endpoint, response) : undefined;
}

/** Some servers add `"data": null` to request errors, but their status is then 400 (GraphQL over HTTP, section 6.4). */
function isRequestError({ status, data }: GraphqlResponse): boolean {
  return data === undefined || (data === null && status === 400);
}

type ErrorList = readonly {
  readonly message: string;
  readonly extensions?: {
    readonly code?: unknown;
    readonly reason?: unknown;
    /** The embedded server sets it to `true` if the request may have taken effect in spite of the error. */
    readonly mayHaveExecuted?: unknown;
  } | null;
}[];

function errorList(): z.ZodMiniType<ErrorList> {
  return z.array(z.object({
    message: z.string(),
    extensions: z.exactOptional(
      z.nullable(z.object({
        code: z.exactOptional(z.unknown()),
        reason: z.exactOptional(z.unknown()),
        mayHaveExecuted: z.exactOptional(z.unknown()),
      })),
    ),
  }));
}

function errorFailure(errors: ErrorList, isRejected: boolean, response: ReadResponse, endpoint: Endpoint): Failure {
  const text = errors.map(({ message }) => toSentence(message)).filter((message) => message !== "").join(" ");
  const message = text === ""
    ? "The server reported an error without a message. Check the server's log."
    : hideSecrets(text, endpoint);
  const code = codeOf(errors, response, endpoint);
  if (isBearerRefused(code, text, response, endpoint)) {
    return new BearerRefused("UNAUTHENTICATED", `${message} ${endpoint.keyRemedy} ${HEADER_REMEDY}`);
  }
  const reason = errors.map(({ extensions }) => extensions?.reason).find(isRejection);
  if (code === "UNAUTHENTICATED" && reason !== undefined) {
    return new KeyRejected(reason, `${message}${remedyForReason(reason, endpoint)}`);
  }
  const explained = withContext(message, code, response, endpoint);
  if (errors.some(({ extensions }) => extensions?.code === "FORBIDDEN")) return new RightMissing(code, explained);
  const mayHaveExecuted = response.mayChange && errors.some(({ extensions }) => extensions?.mayHaveExecuted === true);
  return new (isRejected ? RequestRejected : Failure)(code, explained, { mayHaveExecuted });
}

function codeOf(errors: ErrorList, { status }: ReadResponse, { interrupted }: Endpoint): FailureCode {
  if (status === 429) return "RATE_LIMITED";
  const codes = errors.map(({ extensions }) => extensions?.code);
  // The server may run inside this process. Ctrl-C then interrupts the server too.
  if (interrupted.aborted && codes.includes("INTERRUPTED")) return "INTERRUPTED";
  const isKeyMissing = errors.some(({ message }) => NO_KEY_FOUND.test(message));
  return codes.find(isServerCode) ?? STATUS_CODES.get(status) ?? (isKeyMissing ? "UNAUTHENTICATED" : "FAILED");
}

/** Returns the failure for a response that a server with API keys would not send. */
export function badResponse(
  problem: string,
  { label, urlSetting = URL_SETTING }: Endpoint,
  { mayChange }: Pick<ReadResponse, "mayChange">,
): Failure {
  return new Failure(
    "BAD_RESPONSE",
    `${label} did not answer like a server with API keys: ${problem}. Check ${urlSetting}.${maybeExecuted(mayChange)}`,
    { mayHaveExecuted: mayChange },
  );
}

function withContext(
  message: string,
  code: FailureCode,
  { headers }: ReadResponse,
  { label, keyRemedy }: Endpoint,
): string {
  if (code === "UNAUTHENTICATED") return `${message} ${keyRemedy}`;
  // The embedded server's message already says when to try again.
  if (code === "RATE_LIMITED") {
    return /\btry again in \d/i.test(message) ? message : `${message} ${waitRemedy(headers)}`;
  }
  return code === "UNREACHABLE" || code === "TIMEOUT" ? `${label}: ${message}` : message;
}

/** A server that knows the key says what to do, so only the place for a new secret is missing. */
function remedyForReason(reason: Rejection, { keyRemedy, knownKeyRemedy, newSecretRemedy }: Endpoint): string {
  switch (reason) {
    case "disabled":
    case "expired":
      return knownKeyRemedy === "" ? "" : ` ${knownKeyRemedy}`;
    case "rotated":
      return ` ${newSecretRemedy ?? NEW_SECRET_REMEDY}`;
    case "mistyped":
    case "unknown":
      return ` ${keyRemedy}`;
  }
}

/** Where to put the new secret of a rotated key. */
export const NEW_SECRET_REMEDY = "Pass it with SERVICE_API_KEY or --key-file, or store it with service-api login.";

const HEADER_REMEDY = `If the server expects the bare key in another header, use --key-header ${USUAL_KEY_HEADER}.`;

/** The message of servers that take a request without a key for one of a browser. */
const NO_KEY_FOUND = /invalid csrf token/i;

function isBearerRefused(code: FailureCode, text: string, { headers }: ReadResponse, endpoint: Endpoint): boolean {
  const isRefused = code === "UNAUTHENTICATED" || NO_KEY_FOUND.test(text);
  const sendsBearer = endpoint.headers.get("authorization")?.startsWith("Bearer ") ?? false;
  return isRefused && sendsBearer && !/\bbearer\b/i.test(headers.get("www-authenticate") ?? "");
}

/** The longest wait that a message gives in seconds. For a longer wait, it gives the time of the next attempt. */
const LONGEST_COUNTDOWN = 86_400;

/** The last time of RFC 3339, in milliseconds. */
const LAST_TIME = Date.parse("9999-12-31T23:59:59Z");

/** Says how long to wait after status 429. Retry-After is a number of seconds or a date (RFC 9110 section 10.2.3). */
function waitRemedy(headers: Headers): string {
  const value = headers.get("retry-after") ?? "";
  // The server's own clock makes the difference right, even if the clock of this machine is wrong.
  const now = Date.parse(headers.get("date") ?? "") || Date.now();
  const next = /^\d{1,9}$/.test(value) ? now + Number(value) * 1000 : Date.parse(value);
  if (!(next > now && next <= LAST_TIME)) return "Wait a moment, then try again.";
  const seconds = Math.ceil((next - now) / 1000);
  if (seconds <= LONGEST_COUNTDOWN) return `Wait ${seconds} s, then try again.`;
  return `Try again after ${new Date(next).toISOString().replace(/\.\d+/, "")}.`;
}

/**
 * The error codes that the client adopts from a server. If a response has none of them, the client derives the code
 * from the HTTP status, or uses `FAILED`.
 */
const SERVER_CODES = [
  "INVALID_NAME",
  "ALREADY_EXISTS",
  "NOT_FOUND",
  "EXPIRED",
  "NO_RIGHTS",
  "INVALID_ROLE",
  "INVALID_PERMISSION",
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "UNREACHABLE",
  "TIMEOUT",
  "RATE_LIMITED",
] as const satisfies readonly FailureCode[];

function isServerCode(code: unknown): code is typeof SERVER_CODES[number] {
  return SERVER_CODES.some((known) => known === code);
}

const STATUS_CODES: ReadonlyMap<number, FailureCode> = new Map([
  [401, "UNAUTHENTICATED"],
  [403, "FORBIDDEN"],
  [408, "TIMEOUT"],
  [429, "RATE_LIMITED"],
  [502, "UNREACHABLE"],
  [503, "UNREACHABLE"],
  [504, "TIMEOUT"],
]);

function statusFailure(response: ReadResponse, endpoint: Endpoint): Failure {
  const { status, headers, body } = response;
  const summary = `${endpoint.label} answered with HTTP status ${status}`;
  const { urlSetting = URL_SETTING } = endpoint;
  const location = headers.get("location");
  if (status >= 300 && status < 400) {
    const target = location === null ? "" : ` to ${hideSecrets(location, endpoint)}`;
    return new Failure("BAD_RESPONSE", `${summary}, a redirect${target}. Set ${urlSetting} to the new address.`);
  }
  const code = STATUS_CODES.get(status) ?? "BAD_RESPONSE";
  if (isBearerRefused(code, body, response, endpoint)) {
    return new BearerRefused("UNAUTHENTICATED", `${summary}. ${endpoint.keyRemedy} ${HEADER_REMEDY}`);
  }
  const remedy = remedyForRefusal(code, response, endpoint);
  const mayHaveExecuted = response.mayChange && remedy === undefined;
  const advice = remedy ?? `${maybeExecuted(mayHaveExecuted)} Check the server and ${urlSetting}.`;
  return new Failure(code, `${summary}.${advice}`, { mayHaveExecuted });
}

/** Returns what to do if the status says that the server did not execute the request. */
function remedyForRefusal(
  code: FailureCode,
  { status, headers }: ReadResponse,
  { keyRemedy, urlSetting = URL_SETTING }: Endpoint,
): string | undefined {
  if (code === "UNAUTHENTICATED") return ` ${keyRemedy}`;
  if (code === "FORBIDDEN") return " The key lacks a right, or a proxy in front of the server rejected the request.";
  if (code === "RATE_LIMITED") return ` ${waitRemedy(headers)}`;
  if (status < 500 && code === "BAD_RESPONSE") return ` Is there a GraphQL server at ${urlSetting}?`;
  return undefined;
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
  const line = hidden.replace(/\s+/g, " ");
  const shown = line.length > LONGEST_MESSAGE ? `${line.slice(0, LONGEST_MESSAGE)}…` : line;
  return escapeInvisible(shown);
}
