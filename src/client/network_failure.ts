/** Turns errors of `fetch` into failures whose messages name the server, the cause and a remedy. */
import { Failure, type FailureCode } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";

/** Part of messages about a request whose outcome is unknown. In these messages, "it" is the server. */
export const MAYBE_EXECUTED = "it may have executed the request";

/** Patterns for the runtime's messages, each with a code and an explanation for the user. The first match counts. */
const NETWORK_FAILURES: readonly (readonly [RegExp, FailureCode, string])[] = [
  [
    /InvalidContentType|corrupt message/,
    "TLS",
    "the server does not speak TLS on this port. Should the address begin with http://?",
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
  [/\btls\b|handshake|fatal alert/i, "TLS", "the TLS handshake failed. Is there a TLS server at --base-url?"],
  [/dns error|failed to lookup/, "UNREACHABLE", "the host name could not be resolved. Check --base-url."],
  [/refused/, "UNREACHABLE", "connection refused. Is the server running? Check --base-url."],
  [
    /invalid HTTP|HTTP version parsed/,
    "BAD_RESPONSE",
    "the server does not speak HTTP on this port. Should the address begin with https://?",
  ],
  [
    /closed|reset|broken pipe|eof|reading a body/i,
    "UNREACHABLE",
    `the server closed the connection before the response was complete; ${MAYBE_EXECUTED}.`,
  ],
];

/** Returns the failure for an error that occurred while sending the request or reading the response. */
export function networkFailure({ label, debug }: Endpoint, error: unknown): Failure {
  const message = error instanceof Error
    ? `${error.message} ${error.cause instanceof Error ? error.cause.message : ""}`
    : String(error);
  // Removes URLs, because a host name or path may match one of the patterns.
  const reason = message.replaceAll(/\(?https?:\/\/[^\s)]*\)?/g, "");
  const [, code, explanation] = NETWORK_FAILURES.find(([pattern]) => pattern.test(reason)) ??
    [null, "UNREACHABLE" as const, "the connection failed. Set LOG_LEVEL=debug to see the system's message."];
  debug("The request failed: {reason}", { reason });
  return new Failure(code, `Could not reach ${label}: ${explanation}`, { cause: error });
}
