/** Responses to requests that fail before a handler answers them. */
import type { IncomingMessage, RequestListener, Server } from "node:http";
import { Server as NetServer } from "node:net";
import type { Duplex } from "node:stream";
import type { FailureCode } from "../../apikey/failure.ts";
import { type HttpResponse, NO_STORE } from "../graphql/http_message.ts";

/** An error that the server answers instead of a handler. */
export interface EarlyError extends Pick<HttpResponse, "status" | "headers"> {
  readonly code: FailureCode;
  readonly message: string;
  readonly mayHaveExecuted?: true;
}

const RETRY = { "retry-after": "1" } as const;

/** The error of a request that arrives while the server is stopping. */
export const STOPPING: EarlyError = {
  status: 503,
  headers: RETRY,
  code: "UNREACHABLE",
  message: "The server is stopping. Try again.",
};
/** The error of a request that is still in progress when `--drain-timeout` expires. */
export const STOPPED: EarlyError = {
  status: 503,
  headers: RETRY,
  code: "TIMEOUT",
  message: "The server is stopping and did not finish the request. The request may have taken effect.",
  mayHaveExecuted: true,
};
export const REQUEST_TIMEOUT: EarlyError = {
  status: 503,
  headers: RETRY,
  code: "TIMEOUT",
  message: "The request took too long. It may have taken effect.",
  mayHaveExecuted: true,
};
/** The error of a request with one of these headers twice (RFC 6750 section 3.1). */
export const DUPLICATE_HEADER: EarlyError = {
  status: 400,
  headers: { "www-authenticate": 'Bearer realm="service-api", error="invalid_request"' },
  code: "USAGE",
  message: "Send the headers Host, Authorization and X-API-Key only once.",
};
export const BODY_TIMEOUT: EarlyError = {
  status: 408,
  headers: RETRY,
  code: "TIMEOUT",
  message: "The body of the request did not arrive in time.",
};

/** Returns the response with an error, in the form of the endpoint at `url`. */
export function errorResponse(error: EarlyError, url: string): HttpResponse {
  const { status, headers, code } = error;
  const [type, body] = bodyOf(error, url.split("?", 1)[0] ?? "");
  return { status, headers: { "content-type": type, ...NO_STORE, ...headers }, body, code };
}

function bodyOf(
  { status, code, message, mayHaveExecuted }: EarlyError,
  path: string,
): readonly [type: string, body: string] {
  if (path === "/verify" || path.startsWith("/verify/")) return ["text/plain; charset=utf-8", `${message}\n`];
  if (path === "/introspect") {
    const error = status === 503 ? "temporarily_unavailable" : "invalid_request";
    return ["application/json", JSON.stringify({ error, error_description: message })];
  }
  const errors = [{ message, extensions: { code, mayHaveExecuted } }];
  return ["application/json; charset=utf-8", JSON.stringify({ errors })];
}

const UPGRADE_MESSAGE = "This server speaks only HTTP/1.1. Remove the Upgrade header.\n";
const UPGRADE_HEADERS = {
  "connection": "close",
  "content-type": "text/plain; charset=utf-8",
  "content-length": String(UPGRADE_MESSAGE.length),
};

/**
 * Rejects requests with an `Upgrade` header. Deno does not pass on the body of such a request, so no handler can answer it.
 *
 * @returns a request listener that rejects these requests too, and passes other requests to `listener`
 */
export function rejectUpgrades(server: Server, listener: RequestListener): RequestListener {
  if (server instanceof NetServer) {
    const head = Object.entries(UPGRADE_HEADERS).map(([name, value]) => `${name}: ${value}\r\n`).join("");
    server.on("upgrade", (_request: IncomingMessage, socket: Duplex) => {
      socket.end(`HTTP/1.1 400 Bad Request\r\n${head}\r\n${UPGRADE_MESSAGE}`);
    });
    return listener;
  }
  // The server of Deno 2.7.11 must not have a listener for `upgrade`: an HTTP/1.0 request to upgrade would close it. Without
  // such a listener, it passes on the request like any other. It always did so for h2c.
  return (request, response) => {
    const upgrade = "upgrade" in request && typeof request.upgrade === "string" ? request.upgrade.toLowerCase() : "";
    if (upgrade === "" || upgrade === "h2c") return listener(request, response);
    response.writeHead(400, UPGRADE_HEADERS).end(UPGRADE_MESSAGE);
  };
}

/** Rejects malformed HTTP (RFC 9112 section 2.2) and headers that are too long (RFC 6585 section 5). */
export function rejectMalformed(error: Error, socket: Duplex): void {
  if (!socket.writable) return void socket.destroy();
  const status = "code" in error && error.code === "HPE_HEADER_OVERFLOW"
    ? "431 Request Header Fields Too Large"
    : "400 Bad Request";
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
