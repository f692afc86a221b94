/**
 * Answers one HTTP request: determines the request id and the client address, enforces the time limit, calls the handler,
 * and writes the response and an entry of the access log. Each request is logged exactly once and answered at most once,
 * even if it times out or the client disconnects.
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { redactSecrets } from "../../apikey/secret.ts";
import type { Handler, HttpRequest, HttpResponse } from "../graphql/http_message.ts";
import type { ClientAddress } from "./client_address.ts";
import type { ConnectionTimeouts } from "./connection_timeouts.ts";
import {
  BODY_TIMEOUT,
  DUPLICATE_HEADER,
  errorResponse,
  REQUEST_TIMEOUT,
  STOPPED,
  STOPPING,
} from "./error_responses.ts";
import type { PendingRequest, PendingRequests } from "./pending_requests.ts";
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
  /** `previous` if the request carried the secret before the last rotation of the key, in its grace period. */
  readonly secret?: "previous" | undefined;
  /** The `FailureCode` of the first error. */
  readonly code?: string | undefined;
}

/** The state that all requests of a server share. */
export interface ServerState {
  readonly timeouts: ConnectionTimeouts;
  readonly pending: PendingRequests;
  readonly pipelines: Pick<Pipelines, "hasWaiting" | "isBusy">;
  isStopping: boolean;
}

/** The maximum length of a path in the access log, in UTF-16 code units. */
const MAX_PATH_LENGTH = 255;

/**
 * A body of up to this length, in UTF-16 code units, counts as sent when it is passed to the runtime. On Deno 2.7.11,
 * waiting for the end of a response takes as long as answering a small query.
 */
const SMALL_BODY = 10_000;

/** Bodies that need no conversion to UTF-8. Node sends them faster as Latin-1. */
const SHORT_ASCII = /^[ -~\n]{0,255}$/;

/** The server uses the `X-Request-Id` of a request only if it matches this pattern. */
const REQUEST_ID = /^[\w.:/+=-]{1,128}$/;

/** The options and the state that all requests of a server share, and what answers the requests. */
export interface RequestServices {
  readonly options: RequestOptions;
  readonly handler: Handler;
  readonly state: Readonly<ServerState>;
}

/**
 * Answers a request with the response of a handler, or with an error if the request takes too long or the server is
 * stopping.
 *
 * @throws only if the socket fails
 */
export function handleRequest(
  request: IncomingMessage,
  response: ServerResponse,
  services: RequestServices,
): Promise<void> {
  return new Exchange(request, response, services).run();
}

/**
 * A request and its response. What belongs to a request is in this object and not in closures: V8 keeps a closure that is
 * called once per request until a full garbage collection.
 */
class Exchange implements HttpRequest, PendingRequest {
  readonly method: string;
  readonly url: string;
  readonly address: string;
  readonly requestId: string;
  readonly deadline: number;
  // Creating an `AbortController` would take some microseconds.
  readonly signal: { readonly aborted: boolean } = this;
  pendingIndex = -1;
  readonly #socket: Socket;
  readonly #request: IncomingMessage;
  /** Names and values in turn. The runtime may build a new array each time it is asked. */
  readonly #rawHeaders: readonly string[];
  readonly #response: ServerResponse;
  readonly #services: RequestServices;
  readonly #start = performance.now();
  #isAnswered = false;
  #isAborted = false;

  constructor(request: IncomingMessage, response: ServerResponse, services: RequestServices) {
    const { socket, method = "GET", url = "/" } = request;
    this.#request = request;
    this.#rawHeaders = request.rawHeaders;
    this.#response = response;
    this.#services = services;
    this.#socket = socket;
    this.deadline = this.#start + services.options.requestTimeout;
    this.method = method;
    // The request line may contain an absolute URL (RFC 9112 section 3.2.2).
    this.url = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*/i, "");
    this.requestId = chooseRequestId(this.header("x-request-id"));
    this.address = services.options.clientAddress(socket.remoteAddress ?? "", this.header("x-forwarded-for"));
  }

  // Searching the few headers of a request takes less time than building the `headers` of the runtime.
  header(name: string): string | null {
    const rawHeaders = this.#rawHeaders;
    let value: string | null = null;
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const other = rawHeaders[i] ?? "";
      if (other.length !== name.length || other.toLowerCase() !== name) continue;
      value = value === null ? rawHeaders[i + 1] ?? "" : `${value}, ${rawHeaders[i + 1]}`;
    }
    return value;
  }

  isComplete(): boolean {
    return this.#request.complete;
  }

  body(): Promise<string> {
    return readBody(this.#request, Number(this.header("content-length") ?? 0), this.#services.options.maxBody);
  }

  isConnected(): boolean {
    return !this.#socket.destroyed;
  }

  /** Whether the client no longer waits for the response. */
  get aborted(): boolean {
    return this.#isAborted || this.#response.destroyed;
  }

  answerStopped(): void {
    this.#respond(errorResponse(STOPPED, this.url), true);
  }

  answerLate(): void {
    this.#respond(errorResponse(this.#request.complete ? REQUEST_TIMEOUT : BODY_TIMEOUT, this.url), true);
  }

  async run(): Promise<void> {
    const { handler, state: { isStopping, pending, timeouts } } = this.#services;
    if (isStopping) return this.#respond(errorResponse(STOPPING, this.url), false);
    if (hasDuplicate(this.#rawHeaders)) return this.#respond(errorResponse(DUPLICATE_HEADER, this.url), false);
    pending.add(this);
    timeouts.suspend(this.#socket);
    const answer = await handler(this);
    const { release, body } = answer;
    const isLarge = body !== null && body.length > SMALL_BODY;
    if (release !== undefined && isLarge && !this.#response.destroyed) this.#response.once("close", release);
    else release?.();
    this.#respond(answer, false);
  }

  #respond(answer: HttpResponse, isAborted: boolean): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    const isConnected = this.isConnected();
    if (isConnected) this.#send(answer, isAborted);
    this.#isAborted ||= isAborted;
    this.#services.state.pending.delete(this);
    this.#services.options.logAccess?.(this.#describe(isConnected ? answer.status : 499, answer));
  }

  #send({ status, headers, body }: HttpResponse, isAborted: boolean): void {
    const { options, state } = this.#services;
    const socket = this.#socket;
    const closesConnection = isAborted || headers["connection"] === "close" ||
      (state.isStopping && !state.pipelines.hasWaiting(socket));
    const sent: Record<string, string> = { ...headers, "x-request-id": this.requestId };
    const isAscii = body !== null && SHORT_ASCII.test(body);
    if (body !== null) sent["content-length"] = String(isAscii ? body.length : Buffer.byteLength(body));
    if (closesConnection) sent["connection"] = "close";
    this.#response.writeHead(status, sent);
    // Reads and discards the rest of the body and further requests until the client closes the connection or the
    // deadline passes. If the server closed the connection now, the client might not receive the response.
    if (closesConnection) socket.destroySoon = () => void socket.end();
    this.#response.end(
      // Deno 2.7.11 would send an empty body as a stream, which takes longer.
      this.method === "HEAD" || body === "" ? null : body,
      isAscii ? "latin1" : "utf8",
    );
    const isComplete = this.#request.complete;
    if (!isComplete) this.#request.resume();
    const canReuseConnection = isComplete && !closesConnection;
    const timeout = canReuseConnection ? options.idleTimeout : options.unreadBodyTimeout ?? 5000;
    // Deno 2.7.11 passes another object with each request. A deadline would keep it in memory and could not close anything.
    if (socket instanceof Socket) state.timeouts.set(socket, timeout);
  }

  #describe(status: number, { keyId, secret, code }: HttpResponse): AccessLogEntry {
    const duration = performance.now() - this.#start;
    return {
      time: new Date(Date.now() - duration),
      requestId: this.requestId,
      address: this.address,
      method: this.method,
      path: redactSecrets(this.url.split("?", 1)[0]?.slice(0, MAX_PATH_LENGTH) ?? ""),
      status,
      duration,
      keyId,
      secret,
      code,
    };
  }
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
    const value = rawHeaders[i + 1] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts += isJoined(value) ? 2 : 1;
    else if (name.length === 9 && name.toLowerCase() === "x-api-key") bareKeys += isJoined(value) ? 2 : 1;
    else if (name.length === 13 && name.toLowerCase() === "authorization") {
      authorizations += isJoined(value) && SECOND_CREDENTIALS.test(value) ? 2 : 1;
    }
  }
  return hosts > 1 || authorizations > 1 || bareKeys > 1;
}

/** Deno 2.7.11 joins the values of headers with the same name. */
function isJoined(value: string): boolean {
  return value.includes(", ");
}

/** Another scheme after a comma. One scheme can have several parameters `name=value` (RFC 9110 section 11.4). */
const SECOND_CREDENTIALS = /, *[^\s=,"]+(?: +[^\s=]| *$| *,)/;
