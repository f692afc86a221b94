/** Turns the runtime's errors of a failed request into failures that name the host and what to try. */
import { Failure, type FailureCode } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";

/** Ends every message about a request that was sent and whose outcome is unknown. */
export const MAYBE_EXECUTED = "it may have executed the request";

/** How the runtime's message identifies a failure, its code, and what it means to the user. The first match counts. */
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
    "its certificate has expired or is not yet valid. Check the clocks of both machines.",
  ],
  [
    /CaUsedAsEndEntity/,
    "TLS",
    "its certificate is a CA certificate. Give the server a certificate signed by a CA, and give the CA with --ca-file.",
  ],
  [
    /certificate|BadSignature|UnknownIssuer/,
    "TLS",
    "its certificate is not trusted. Give the CA certificate that signed it with --ca-file.",
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
    `the server closed the connection before the answer was complete; ${MAYBE_EXECUTED}.`,
  ],
];

/** The failure for an error that `fetch` threw or that ended the body of the answer. */
export function networkFailure({ label, debug }: Endpoint, error: unknown): Failure {
  const message = error instanceof Error
    ? `${error.message} ${error.cause instanceof Error ? error.cause.message : ""}`
    : String(error);
  // A host name or path may contain any of the words.
  const reason = message.replaceAll(/\(?https?:\/\/[^\s)]*\)?/g, "");
  const [, code, meaning] = NETWORK_FAILURES.find(([pattern]) => pattern.test(reason)) ??
    [null, "UNREACHABLE" as const, "the connection failed. Set LOG_LEVEL=debug to see the system's message."];
  debug("No answer: {reason}", { reason });
  return new Failure(code, `Could not reach ${label}: ${meaning}`, { cause: error });
}
