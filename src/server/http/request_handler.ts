/**
 * Answers one HTTP request: determines the request id and the client address, enforces the time limit, calls the handler,
 * and writes the response and an entry of the access log. Each request is logged exactly once and answered at most once,
 * even if it times out or the client disconnects.
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { redactSecrets } from "../../apikey/secret.ts";
import type { Handler, HttpResponse } from "../graphql/http_message.ts";
import type { ClientAddress } from "./client_address.ts";
import type { ConnectionTimeouts } from "./connection_timeouts.ts";
import { BODY_TIMEOUT, DUPLICATE_HEADER, REQUEST_TIMEOUT, STOPPED, STOPPING } from "./error_responses.ts";
import type { Pipelines } from "./pipelines.ts";
import { readBody } from "./request_body.ts";

export interface RequestOptions {
  /** The maximum length of a request body, in bytes. */
  readonly maxBody: number;
  /** The time limit for a request, from its headers to its response, in milliseconds. */
  readonly requestTimeout: number;
  /**
   * How long a connection may stay idle between requests, and how long a client may take to read a response, in
   * milliseconds.
   */
  readonly idleTimeout: number;
  /**
   * How long a client may keep sending a body after the server has answered, in milliseconds.
   *
   * @default 5000
   */
  readonly unreadBodyTimeout?: number | undefined;
  readonly clientAddress: ClientAddress;
  /** Called once for each request. */
  readonly logAccess?: ((entry: AccessLogEntry) => void) | undefined;
}

/** An entry of the access log. It contains no secrets. */
export interface AccessLogEntry {
  readonly time: Date;
  readonly requestId: string;
  readonly address: string;
  readonly method: string;
  /** The path without the query. The query is omitted, because it may contain secrets. */
  readonly path: string;
  /** The HTTP status of the response; 499 if the client disconnected before the response. */
  readonly status: number;
  /** The time from the headers of the request to its response, in milliseconds. */
  readonly duration: number;
  /** The id of the key that authenticated the request. */
  readonly keyId?: string | undefined;
  /** The `FailureCode` of the first error. */
  readonly code?: string | undefined;
}

/** A request that the server has not answered yet. */
export interface PendingRequest {
  readonly socket: Socket;
  /** Answers the request with an error that says that the server is stopping. */
  readonly answerStopped: () => void;
}

/** The state that all requests of a server share. */
export interface ServerState {
  readonly timeouts: ConnectionTimeouts;
  readonly pending: Set<PendingRequest>;
  readonly pipelines: Pick<Pipelines, "hasWaiting" | "isBusy">;
  isStopping: boolean;
}

/** The maximum length of a path in the access log, in UTF-16 code units. */
const MAX_PATH_LENGTH = 255;

/** The server uses the `X-Request-Id` of a request only if it matches this pattern. */
const REQUEST_ID = /^[\w.:/+=-]{1,128}$/;

/**
 * Answers a request with the response of a handler, or with an error if the request takes too long or the server is
 * stopping.
 *
 * @throws only if the socket fails
 */
export async function handleRequest(
  request: IncomingMessage,
  response: ServerResponse,
  options: RequestOptions,
  handler: Handler,
  state: Readonly<ServerState>,
): Promise<void> {
  const { timeouts, pending, pipelines } = state;
  const { socket, headers, method = "GET" } = request;
  // The request line may contain an absolute URL (RFC 9112 section 3.2.2).
  const url = (request.url ?? "/").replace(/^https?:\/\/[^/?]*/i, "");
  const time = new Date();
  const start = performance.now();
  const requestId = chooseRequestId(headerOf(headers, "x-request-id"));
  const address = options.clientAddress(socket.remoteAddress ?? "", headerOf(headers, "x-forwarded-for"));
  // Creating an `AbortController` would take some microseconds.
  const signal = { aborted: false };
  let isAnswered = false;
  let release: HttpResponse["release"] = undefined;

  function respond(
    { status, headers: handlerHeaders, body, keyId, code }: HttpResponse,
    isAborted: boolean,
  ): void {
    if (isAnswered) return;
    isAnswered = true;
    const closesConnection = isAborted || handlerHeaders["connection"] === "close" ||
      (state.isStopping && !pipelines.hasWaiting(socket));
    const isDisconnected = socket.destroyed;
    if (!isDisconnected) {
      response.writeHead(status, {
        ...handlerHeaders,
        ...(body === null ? {} : { "content-length": Buffer.byteLength(body) }),
        "x-request-id": requestId,
        ...(closesConnection ? { connection: "close" } : {}),
      });
      // Reads and discards the rest of the body and further requests until the client closes the connection or the
      // deadline passes. If the server closed the connection now, the client might not receive the response.
      if (closesConnection) socket.destroySoon = () => void socket.end();
      response.end(method === "HEAD" ? null : body);
      request.resume();
      const canReuseConnection = request.complete && !closesConnection;
      const timeout = canReuseConnection ? options.idleTimeout : options.unreadBodyTimeout ?? 5000;
      if (socket instanceof Socket) timeouts.set(socket, timeout);
      // Deno 2.7.11 passes another object with each request. A deadline would keep it in memory and could not close anything.
      else timeouts.clear(socket);
    }
    if (isAborted) signal.aborted = true;
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

  const pendingRequest: PendingRequest = { socket, answerStopped: () => respond(STOPPED, true) };
  if (state.isStopping) return respond(STOPPING, false);
  if (hasDuplicate(request.rawHeaders)) return respond(DUPLICATE_HEADER, false);
  pending.add(pendingRequest);
  response.once("close", () => {
    if (!isAnswered) signal.aborted = true;
    release?.();
  });
  timeouts.set(
    socket,
    options.requestTimeout,
    () => respond(request.complete ? REQUEST_TIMEOUT : BODY_TIMEOUT, true),
  );
  const answer = await handler({
    method,
    url,
    header: (name) => headerOf(headers, name),
    isComplete: () => request.complete,
    body: () => readBody(request, options.maxBody),
    address,
    requestId,
    signal,
  });
  release = answer.release;
  respond(answer, false);
  // The client may have disconnected.
  if (response.destroyed) release?.();
}

/** Returns the given id if it is safe to log and to return to the client, otherwise a new id. */
function chooseRequestId(given: string | null): string {
  const isSafe = given !== null && REQUEST_ID.test(given) && redactSecrets(given) === given;
  return isSafe ? given : crypto.randomUUID();
}

/**
 * Returns whether `Host` (RFC 9112 section 3.2), `Authorization` (RFC 9110 section 5.3) or `X-API-Key` occurs twice. Node
 * ignores all but the first.
 *
 * @param rawHeaders names and values in turn
 */
function hasDuplicate(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  let authorizations = 0;
  let bareKeys = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    // Deno 2.7.11 joins the values of headers with the same name.
    const count = rawHeaders[i + 1]?.includes(", ") ? 2 : 1;
    if (name.length === 4 && name.toLowerCase() === "host") hosts += count;
    else if (name.length === 9 && name.toLowerCase() === "x-api-key") bareKeys += count;
    else if (name.length === 13 && name.toLowerCase() === "authorization") authorizations += count;
  }
  return hosts > 1 || authorizations > 1 || bareKeys > 1;
}

function headerOf(headers: IncomingMessage["headers"], name: string): string | null {
  const value = headers[name];
  return value === undefined ? null : typeof value === "string" ? value : value.join(", ");
}
