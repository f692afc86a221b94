/**
 * Answers one HTTP request: gives it an id, a client address and a time limit, calls the handler, writes the response
 * and an entry of the access log. Each request is answered and logged exactly once, also if it takes too long.
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { redactSecrets } from "../../apikey/secret.ts";
import type { Handler, HttpResponse } from "../graphql/http_message.ts";
import type { ClientAddress } from "./client_address.ts";
import type { ConnectionTimeouts } from "./connection_timeouts.ts";
import { BODY_TIMEOUT, CUT_OFF, REQUEST_TIMEOUT, STOPPING } from "./error_responses.ts";
import { readBody } from "./request_body.ts";

export interface RequestOptions {
  /** The longest body of a request, in bytes. */
  readonly maxBody: number;
  /** For a request, from its headers to its response, in milliseconds. */
  readonly requestTimeout: number;
  /** For a connection between two requests, and for a client to read a response, in milliseconds. */
  readonly idleTimeout: number;
  /**
   * How long a client may keep sending a body after the response to it, in milliseconds.
   *
   * @default 5000
   */
  readonly unreadBodyTimeout?: number | undefined;
  readonly clientAddress: ClientAddress;
  /** Called once for each request. */
  readonly logAccess?: ((entry: AccessLogEntry) => void) | undefined;
}

/** What the access log records of a request. It holds no secrets. */
export interface AccessLogEntry {
  readonly time: Date;
  readonly requestId: string;
  readonly address: string;
  readonly method: string;
  /** Without the query, which may hold secrets. */
  readonly path: string;
  /** 499 if the client disconnected before the response. */
  readonly status: number;
  /** In milliseconds. */
  readonly duration: number;
  /** The id of the key that authenticated the request. */
  readonly keyId?: string | undefined;
  /** The `FailureCode` of the first error. */
  readonly code?: string | undefined;
}

/** A request without a response yet. */
export interface PendingRequest {
  readonly socket: Socket;
  /** Answers the request with an error at once. */
  readonly cutOff: () => void;
}

/** What the requests of a server share. */
export interface ServerState {
  readonly timeouts: ConnectionTimeouts;
  readonly pending: Set<PendingRequest>;
  isStopping: boolean;
}

/** The longest path in the access log, in UTF-16 code units. */
const MAX_PATH_LENGTH = 255;

/** Which request ids of clients and proxies are kept. */
const REQUEST_ID = /^[\w.:/+=-]{1,128}$/;

/** @throws only if the socket fails */
export async function handleRequest(
  request: IncomingMessage,
  response: ServerResponse,
  options: RequestOptions,
  handler: Handler,
  state: Readonly<ServerState>,
): Promise<void> {
  const { timeouts, pending } = state;
  const { socket, headers, method = "GET" } = request;
  // A server must accept whole URLs too (RFC 9112 section 3.2.2).
  const url = (request.url ?? "/").replace(/^https?:\/\/[^/?]*/i, "");
  const time = new Date();
  const start = performance.now();
  const requestId = chooseRequestId(headerOf(headers, "x-request-id"));
  const address = options.clientAddress(socket.remoteAddress ?? "", headerOf(headers, "x-forwarded-for"));
  const controller = new AbortController();
  let isAnswered = false;

  function respond({ status, headers: ownHeaders, body, keyId, code }: HttpResponse, isLast: boolean): void {
    if (isAnswered) return;
    isAnswered = true;
    const isDisconnected = socket.destroyed;
    if (!isDisconnected) {
      response.writeHead(status, {
        ...ownHeaders,
        ...(body === null ? {} : { "content-length": Buffer.byteLength(body) }),
        "x-request-id": requestId,
        ...(isLast ? { connection: "close" } : {}),
      });
      response.end(method === "HEAD" ? null : body);
      // Reads the rest of the body, for a while. Otherwise the client would not get to read the response.
      request.resume();
      const hasRead = request.complete && !state.isStopping;
      timeouts.set(socket, hasRead ? options.idleTimeout : options.unreadBodyTimeout ?? 5000);
    }
    if (isLast) controller.abort();
    pending.delete(pendingRequest);
    options.logAccess?.({
      time,
      requestId,
      address,
      method,
      path: redactSecrets(url.split("?", 1)[0]?.slice(0, MAX_PATH_LENGTH) ?? ""),
      status: isDisconnected ? 499 : status,
      duration: performance.now() - start,
      keyId,
      code,
    });
  }

  const pendingRequest: PendingRequest = { socket, cutOff: () => respond(CUT_OFF, true) };
  if (state.isStopping) return respond(STOPPING, true);
  pending.add(pendingRequest);
  response.once("close", () => {
    if (!isAnswered) controller.abort();
  });
  timeouts.set(
    socket,
    options.requestTimeout,
    () => respond(request.complete ? REQUEST_TIMEOUT : BODY_TIMEOUT, true),
  );
  respond(
    await handler({
      method,
      url,
      header: (name) => headerOf(headers, name),
      body: () => readBody(request, options.maxBody),
      address,
      requestId,
      signal: controller.signal,
    }),
    false,
  );
}

/** The given id if it is safe to log and return, otherwise a new one. */
function chooseRequestId(given: string | null): string {
  const isSafe = given !== null && REQUEST_ID.test(given) && redactSecrets(given) === given;
  return isSafe ? given : crypto.randomUUID();
}

function headerOf(headers: IncomingMessage["headers"], name: string): string | null {
  const value = headers[name];
  return value === undefined ? null : typeof value === "string" ? value : value.join(", ");
}
