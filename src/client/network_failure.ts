/** Turns errors of `fetch` into failures whose messages name the server, the cause and a remedy. */
import { Failure, type FailureCode } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";

/** The sentence for a request whose outcome is unknown, with the space before it. */
export const MAYBE_EXECUTED = " The server may have executed the request.";

/** Returns that sentence if the server may have executed the failed request; otherwise an empty text. */
export function maybeExecuted(mayHaveExecuted: boolean): string {
  return mayHaveExecuted ? MAYBE_EXECUTED : "";
}

/** What sets the URL of a server unless its `Endpoint` names something else. */
export const URL_SETTING = "--base-url";

/**
 * Patterns for the runtime's messages, each with a code and an explanation for the user. The first match counts. The
 * explanation may contain `{urlSetting}`.
 */
type Explanations = readonly (readonly [RegExp, FailureCode, string])[];

/** Errors before the program was connected. It has not sent the request. */
const CONNECT_FAILURES: Explanations = [
  [
    /InvalidContentType|corrupt message/,
    "TLS",
    "the server does not speak TLS on this port. Should {urlSetting} begin with http://?",
  ],
  [
    /NotValidForName|not valid for name/,
    "TLS",
    "its certificate is for another host name. Use the host name in the certificate.",
  ],
  [
    /certificate.*([Ee]xpired|NotValidYet|not valid yet)/,
    "TLS",
    "its certificate has expired or is not yet valid. Check the certificate and the clocks of both machines.",
  ],
  [
    /CaUsedAsEndEntity/,
    "TLS",
    "its certificate is a CA certificate. Install a server certificate signed by this CA, and pass the CA certificate with --ca-file.",
  ],
  [
    /certificate|BadSignature|UnknownIssuer/,
    "TLS",
    "its certificate is not trusted. Use --ca-file to pass the certificate of the CA that signed it.",
  ],
  [/\btls\b|handshake|fatal alert/i, "TLS", "the TLS handshake failed. Is there a TLS server at {urlSetting}?"],
  [/dns error|failed to lookup/, "UNREACHABLE", "the host name could not be resolved. Check {urlSetting}."],
  [/refused/, "UNREACHABLE", "connection refused. Is the server running? Check {urlSetting}."],
  [/closed|reset/, "UNREACHABLE", "the server closed the connection at once. Check the server and {urlSetting}."],
];

/** Errors after the program was connected. The server may have received the request. */
const EXCHANGE_FAILURES: Explanations = [
  [
    /HTTP version parsed/,
    "BAD_RESPONSE",
    "the server does not speak HTTP on this port. Should {urlSetting} begin with https://?",
  ],
  [/ parsed\b|head is too large/, "BAD_RESPONSE", "the headers of the response are not valid HTTP."],
  [/stream error/, "UNREACHABLE", "the server reset the HTTP/2 stream before the response was complete."],
  [/http2 error/, "UNREACHABLE", "the server ended the HTTP/2 connection before the response was complete."],
  [
    /closed|close_notify|reset|broken pipe|eof|reading a body/i,
    "UNREACHABLE",
    "the server closed the connection before the response was complete.",
  ],
  [/corrupt message|decrypt|fatal alert|certificate/i, "TLS", "TLS failed before the response was complete."],
];

/** What is known about the request that failed. */
export interface FailedRequest {
  /** Whether the request can change something on the server. */
  readonly mayChange: boolean;
  /** Whether the server has answered with a status and headers. */
  readonly hasResponse: boolean;
}

/** Returns the failure for an error that occurred while sending the request or reading the response. */
export function networkFailure(
  { label, debug, urlSetting = URL_SETTING }: Endpoint,
  error: unknown,
  { mayChange, hasResponse }: FailedRequest,
): Failure {
  const message = error instanceof Error
    ? `${error.message} ${error.cause instanceof Error ? error.cause.message : ""}`
    : String(error);
  // Removes URLs, because a host name or path may match one of the patterns.
  const reason = message.replaceAll(/\(?https?:\/\/[^\s)]*\)?/g, "");
  debug("The request failed: {reason}", { reason });
  const isConnected = !reason.includes("client error (Connect)");
  const [, code, explanation] = (isConnected ? exchangeFailures(hasResponse) : CONNECT_FAILURES)
    .find(([pattern]) => pattern.test(reason)) ??
    [null, "UNREACHABLE" as const, "the connection failed. Set LOG_LEVEL=debug to see the system's message."];
  const summary = isConnected ? `The request to ${label} failed` : `Could not reach ${label}`;
  const mayHaveExecuted = isConnected && mayChange;
  const explained = explanation.replace("{urlSetting}", () => urlSetting);
  return new Failure(code, `${summary}: ${explained}${maybeExecuted(mayHaveExecuted)}`, {
    cause: error,
    mayHaveExecuted,
  });
}

function exchangeFailures(hasResponse: boolean): Explanations {
  if (!hasResponse) return EXCHANGE_FAILURES;
  // The errors of the decoders have no common text. Every other error in a body is an error of the connection. The
  // header `content-encoding` shows nothing, because some versions of the runtime remove it.
  return [[/^(?!.*reading a body)/s, "BAD_RESPONSE", "the response could not be decompressed."], ...EXCHANGE_FAILURES];
}
