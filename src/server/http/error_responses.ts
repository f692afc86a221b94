/** What clients are told of requests that never get as far as GraphQL. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { FailureCode } from "../../apikey/failure.ts";
import { type GraphqlResponse, PRIVATE } from "../graphql/messages.ts";

/** An answer without GraphQL's help. */
function plainError(status: number, code: FailureCode, message: string): GraphqlResponse {
  return {
    status,
    headers: { "content-type": "application/json; charset=utf-8", ...PRIVATE, "retry-after": "1" },
    body: JSON.stringify({ errors: [{ message, extensions: { code } }] }),
    code,
  };
}

export const STOPPING = plainError(503, "UNREACHABLE", "The server is stopping. Try again.");
export const CUT_OFF = plainError(
  503,
  "TIMEOUT",
  "The server is stopping and cannot finish the request. It may have been carried out all the same.",
);
export const TOO_SLOW = plainError(
  503,
  "TIMEOUT",
  "The request took too long. It may have been carried out all the same.",
);
export const NEVER_CAME = plainError(408, "TIMEOUT", "The body of the request did not come in time.");

/** Deno hands out the body of such a request no more, so that it cannot be answered as if nothing had been asked. */
export function refuseUpgrade(_request: IncomingMessage, socket: Duplex): void {
  const words = "This server speaks HTTP/1.1 and no other protocol: leave the header Upgrade out.\n";
  socket.end(
    "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain; charset=utf-8\r\n" +
      `content-length: ${words.length}\r\n\r\n${words}`,
  );
}

/** Answers what is not HTTP (RFC 9112 section 2.2), or has longer headers than anybody needs (RFC 6585 section 5). */
export function refuseMalformed(error: Error, socket: Duplex): void {
  if (!socket.writable) return void socket.destroy();
  const status = "code" in error && error.code === "HPE_HEADER_OVERFLOW"
    ? "431 Request Header Fields Too Large"
    : "400 Bad Request";
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
