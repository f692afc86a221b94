/**
 * One request to a GraphQL endpoint, and what can go wrong with it told apart: unreachable, TLS, timeout, an
 * answer that is not GraphQL, a refusal.
 */
import * as v from "valibot";
import { escapeInvisible, Failure, type FailureCode, NOTHING_CHANGED } from "../apikey/failure.ts";

export interface Endpoint {
  /** `{base_url}/graphql`. */
  readonly url: string;
  /** How messages call the server. */
  readonly label: string;
  /** What to do when the server does not take the key, as a sentence. */
  readonly keyRemedy: string;
  /** Sent with every request; their values are treated as secrets. */
  readonly headers: ReadonlyMap<string, string>;
  /** For the whole of a request and its answer, in milliseconds. */
  readonly timeout: number;
  /** Aborted when the user interrupts the program. */
  readonly interrupted: AbortSignal;
  /** Takes debug records; their properties hold no secret. */
  readonly debug: (message: string, properties: Record<string, unknown>) => void;
  /** The network, or the embedded server. */
  readonly fetch: (request: Request) => Promise<Response>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** The body parsed; `undefined` when it is not JSON. */
  readonly json: unknown;
}

/**
 * Posts a JSON body and reads the answer, whatever its status.
 *
 * @throws {Failure} `UNREACHABLE`, `TLS`, `TIMEOUT`, `BAD_RESPONSE` (no HTTP), `INTERRUPTED`
 */
export async function post(endpoint: Endpoint, body: string): Promise<Answer> {
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
    endpoint.debug("{status} with {length} characters", { status: response.status, length: text.length });
    return { status: response.status, headers: response.headers, body: text, json: parseJson(text) };
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (interrupted.aborted) {
      throw new Failure(
        "INTERRUPTED",
        "Interrupted. The request was already under way: the server may have carried it out.",
      );
    }
    if (deadline.aborted) {
      throw new Failure(
        "TIMEOUT",
        `${endpoint.label} did not answer within ${timeout / 1000} s; ${PERHAPS_DONE}. Raise --timeout, or look at ` +
          "the server.",
      );
    }
    throw networkFailure(endpoint, error);
  }
}

/** What is to be said whenever a request was sent and no answer tells what came of it. */
export const PERHAPS_DONE = "it may have carried out the request all the same";

/** What the runtime says of a failed request, in its own words, and what that means to the user. */
const NETWORK_FAILURES: readonly (readonly [RegExp, FailureCode, string])[] = [
  [
    /InvalidContentType|corrupt message/,
    "TLS",
    "it does not speak TLS there. Is the address http:// and not https://?",
  ],
  [
    /NotValidForName|not valid for name/,
    "TLS",
    "its certificate is for another host name. Use the name that the certificate has.",
  ],
  [
    /certificate.*([Ee]xpired|NotValidYet|not valid yet)/,
    "TLS",
    "its certificate is expired or not yet valid. Look at the clocks of both sides.",
  ],
  [
    /CaUsedAsEndEntity/,
    "TLS",
    "its certificate is an authority's own. It needs one that an authority has signed, and --ca-file that authority.",
  ],
  [
    /certificate|BadSignature|UnknownIssuer/,
    "TLS",
    "its certificate is not trusted. Give the authority that signed it with --ca-file.",
  ],
  [/\btls\b|handshake|fatal alert/i, "TLS", "the TLS handshake failed. Is there a TLS server at --base-url?"],
  [/dns error|failed to lookup/, "UNREACHABLE", "there is no host of that name. Check --base-url."],
  [/refused/, "UNREACHABLE", "connection refused. Is the server running, and is --base-url right?"],
  [/invalid HTTP|HTTP version parsed/, "BAD_RESPONSE", "it does not speak HTTP there. Is the address https://?"],
  [
    /closed|reset|broken pipe|eof|reading a body/i,
    "UNREACHABLE",
    `it closed the connection without a whole answer; ${PERHAPS_DONE}.`,
  ],
];

function networkFailure({ label, debug }: Endpoint, error: unknown): Failure {
  const words = error instanceof Error
    ? `${error.message} ${error.cause instanceof Error ? error.cause.message : ""}`
    : String(error);
  // The address may have any word in it.
  const reason = words.replaceAll(/\(?https?:\/\/[^\s)]*\)?/g, "");
  const [, code, meaning] = NETWORK_FAILURES.find(([pattern]) => pattern.test(reason)) ??
    [null, "UNREACHABLE" as const, "the network did not let it through. LOG_LEVEL=debug shows the system's words."];
  debug("No answer: {reason}", { reason });
  return new Failure(code, `Cannot talk to ${label}: ${meaning}`, { cause: error });
}

const ErrorAnswer = v.object({
  data: v.optional(v.unknown()),
  errors: v.pipe(
    v.array(v.object({
      message: v.string(),
      extensions: v.nullish(v.object({ code: v.optional(v.unknown()) })),
    })),
    v.minLength(1),
  ),
});

/**
 * The server refused a request as a whole: the answer has errors and no `data`, so nothing was executed (GraphQL
 * specification, section 7.1, "Request errors").
 */
export class RequestRefused extends Failure {}

/** The failure that an answer reports or is: by its GraphQL errors, its HTTP status, its form; `undefined` if none. */
export function failureIn(answer: Answer, endpoint: Endpoint): Failure | undefined {
  const parsed = v.safeParse(ErrorAnswer, answer.json);
  if (parsed.success) {
    const { data, errors } = parsed.output;
    const code = errors.map(({ extensions }) => extensions?.code).find(isServerCode);
    const message = hideSecrets(errors.map(({ message }) => message).join(" "), endpoint);
    const meant = code ?? STATUS_CODES.get(answer.status) ?? "FAILED";
    const kind = data === undefined ? RequestRefused : Failure;
    if (meant === "UNAUTHENTICATED") return new kind(meant, `${message} ${endpoint.keyRemedy}`);
    return new kind(meant, meant === "UNREACHABLE" || meant === "TIMEOUT" ? `${endpoint.label}: ${message}` : message);
  }
  if (answer.status < 200 || answer.status >= 300) return statusFailure(answer, endpoint);
  if (answer.json === undefined) return badResponse("the answer is not JSON", endpoint);
  if (hasErrors(answer)) return badResponse("its errors are not such as GraphQL has", endpoint);
  return undefined;
}

/** The failure of a server that answers what no server with API keys does. */
export function badResponse(what: string, { label }: Endpoint): Failure {
  return new Failure(
    "BAD_RESPONSE",
    `${label} did not answer as a server with API keys does (${what}). Is --base-url right? If it is, ${PERHAPS_DONE}.`,
  );
}

/** Whether an answer tells of errors, in whatever shape. */
function hasErrors({ json }: Answer): boolean {
  return v.is(v.object({ errors: v.nonNullish(v.unknown()) }), json) &&
    !v.is(v.object({ errors: v.strictTuple([]) }), json);
}

/** @returns the parsed text, or `undefined` when it is not JSON */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The codes that are a server's to give; the others speak of this side. */
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
  // The embedded server's, which the same Ctrl-C stops.
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

function statusFailure({ status, headers }: Answer, endpoint: Endpoint): Failure {
  const { label, keyRemedy } = endpoint;
  const said = `${label} answered with HTTP status ${status}`;
  const location = headers.get("location");
  if (status >= 300 && status < 400) {
    const target = location === null ? "elsewhere" : `to ${hideSecrets(location, endpoint)}`;
    return new Failure("BAD_RESPONSE", `${said}, a redirect ${target}. Set --base-url to where it leads.`);
  }
  const code = STATUS_CODES.get(status) ?? "BAD_RESPONSE";
  const remedy = code === "BAD_RESPONSE" && status !== 429 && status < 500
    ? "Is there a GraphQL server at --base-url?"
    : code === "FORBIDDEN"
    ? "The key lacks a right, or something before the server refuses it."
    : code === "UNAUTHENTICATED"
    ? keyRemedy
    : status === 429
    ? "Try again later."
    : `Look at the server; ${PERHAPS_DONE}.`;
  return new Failure(code, `${said}. ${remedy}`);
}

/** Shorter values of headers are words, not secrets. */
const SHORTEST_SECRET = 8;

/** Makes a server's words fit for a message: no secret that was sent in a header, nothing that moves the cursor. */
function hideSecrets(text: string, endpoint: Endpoint): string {
  const secrets = [...endpoint.headers.values()].flatMap((value) => [value, value.replace(/^Bearer /, "")]);
  const hidden = secrets.filter((secret) => secret.length >= SHORTEST_SECRET).reduce(
    (shown, secret) => shown.replaceAll(secret, "…"),
    text,
  );
  return escapeInvisible(hidden.replace(/\s+/g, " ")).slice(0, 2000);
}
