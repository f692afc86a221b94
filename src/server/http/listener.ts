/**
 * HTTP on a socket: what Node's server does not do by itself. Requests get an id and an address, bodies a limit,
 * connections a time; every request is told to the access log; and the server can be stopped without losing any.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { Failure, reasonOf } from "../../apikey/failure.ts";
import { redactSecrets } from "../../apikey/secret.ts";
import { watchAccepting } from "./accept_watchdog.ts";
import type { ClientAddress } from "./client_address.ts";
import { ConnectionTimeouts } from "./connection_timeouts.ts";
import type { GraphqlResponse, Handler, LogSink } from "../graphql/messages.ts";
import { CUT_OFF, NEVER_CAME, refuseMalformed, refuseUpgrade, STOPPING, TOO_SLOW } from "./error_responses.ts";
import { readBody } from "./request_body.ts";

export interface ListenOptions {
  /** An IP address or a host name. */
  readonly hostname: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** PEM texts; without them the server speaks HTTP in clear. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** The longest body of a request, in bytes. */
  readonly maxBody: number;
  /** For a request, from its headers to its answer, in milliseconds. */
  readonly requestTimeout: number;
  /** For a connection between two requests, and for a client to take an answer, in milliseconds. */
  readonly idleTimeout: number;
  readonly clientAddress: ClientAddress;
  /** Told of errors that callers are not told of. */
  readonly logError: LogSink;
  /** Told of every request. */
  readonly logAccess?: ((access: Access) => void) | undefined;
}

/** What the access log says of a request. Nothing of it is secret. */
export interface Access {
  readonly time: Date;
  readonly requestId: string;
  readonly address: string;
  readonly method: string;
  /** Without the query, which may hold anything. */
  readonly path: string;
  /** 499 when the client left before there was an answer. */
  readonly status: number;
  /** Milliseconds. */
  readonly duration: number;
  /** The id of the key that was let in. */
  readonly keyId?: string | undefined;
  /** The code of the first error. */
  readonly code?: string | undefined;
}

export interface HttpServer {
  /** Where GraphQL is answered, with the port that was chosen. */
  readonly url: string;
  /**
   * Takes no new requests and lets those in flight finish.
   *
   * @param timeout in milliseconds; then they are cut off
   * @returns how many were cut off
   */
  stop(timeout: number): Promise<number>;
}

/** How long a client may take to begin: for the handshake, and for the headers of the first request. Milliseconds. */
const HEADERS_TIMEOUT = 10_000;

/** How long a client may go on sending a body that nobody wants, after the answer, in milliseconds. */
const REST_TIMEOUT = 5000;

const SOONEST_LOOK = 50;
const LATEST_LOOK = 1000;

/** How much of a path the access log takes, in UTF-16 code units. */
const LONGEST_PATH = 255;

/** What may be in a request id that a client or proxy gives. */
const REQUEST_ID = /^[\w.:/+=-]{1,128}$/;

/**
 * Starts to listen.
 *
 * @throws {Failure} `USAGE` when the address cannot be listened on
 */
export async function listen(options: ListenOptions, answer: Handler): Promise<HttpServer> {
  const { hostname, port, tls, requestTimeout, idleTimeout } = options;
  const shortest = Math.min(requestTimeout, idleTimeout);
  const connections = new ConnectionTimeouts(Math.min(LATEST_LOOK, Math.max(SOONEST_LOOK, shortest / 4)));
  const state: State = { connections, isStopping: false, inFlight: new Set() };
  const server = await createHttpServer(
    tls,
    (request, response) => {
      serve(request, response, options, answer, state).catch((error) => {
        options.logError("A request could not be answered: {error}", { error });
        response.destroy();
      });
    },
  );
  // By port: the socket of a handshake is not the one that requests come on.
  const handshakes = new Map<number | undefined, Socket>();
  const watch = (socket: Socket): void => {
    connections.watch(socket, HEADERS_TIMEOUT);
    socket.on("close", () => connections.forget(socket));
  };
  server.on("connection", (socket: Socket) => {
    watch(socket);
    if (tls === undefined) return;
    handshakes.set(socket.remotePort, socket);
    socket.on("close", () => handshakes.delete(socket.remotePort));
  });
  server.on("secureConnection", (socket: Socket) => {
    const handshake = handshakes.get(socket.remotePort);
    if (handshake !== undefined) connections.forget(handshake);
    handshakes.delete(socket.remotePort);
    watch(socket);
  });
  server.on("upgrade", refuseUpgrade);
  server.on("clientError", refuseMalformed);
  // Node's own times, of which older runtimes know but some, would cost time and add nothing.
  server.keepAliveTimeout = 0;
  server.headersTimeout = 0;
  server.requestTimeout = 0;
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, hostname, () => {
        server.off("error", reject);
        resolve();
      });
    });
  } catch (error) {
    connections.end();
    throw new Failure(
      "USAGE",
      `Cannot listen on ${hostname} port ${port}: ${reasonOf(error)}. Choose another --host or --port.`,
      { cause: error },
    );
  }
  server.on("error", (error) => options.logError("The server failed: {error}", { error }));
  const address = server.address();
  const chosen = typeof address === "object" && address !== null ? address.port : port;
  const endAccepting = watchAccepting(server, hostname, chosen, options.logError);
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    url: `http${tls === undefined ? "" : "s"}://${host}:${chosen}/graphql`,
    stop: (timeout) => {
      endAccepting();
      return stop(server, state, timeout);
    },
  };
}

interface Exchange {
  readonly socket: Socket;
  /** Gives the request up. */
  readonly cutOff: () => void;
}

interface State {
  readonly connections: ConnectionTimeouts;
  /** Requests that are not answered yet. */
  readonly inFlight: Set<Exchange>;
  isStopping: boolean;
}

async function createHttpServer(tls: ListenOptions["tls"], listener: RequestListener): Promise<Server> {
  if (tls === undefined) return createServer(listener);
  const https = await import("node:https");
  return https.createServer({ ...tls, handshakeTimeout: HEADERS_TIMEOUT, minVersion: "TLSv1.2" }, listener);
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: ListenOptions,
  answer: Handler,
  state: State,
): Promise<void> {
  const { connections, inFlight } = state;
  const { socket, headers, method = "GET" } = request;
  // A server takes whole URLs too (RFC 9112 section 3.2.2).
  const url = (request.url ?? "/").replace(/^https?:\/\/[^/?]*/i, "");
  const time = new Date();
  const start = performance.now();
  const given = headerOf(headers, "x-request-id");
  const requestId = given !== null && isRequestId(given) ? given : crypto.randomUUID();
  const address = options.clientAddress(socket.remoteAddress ?? "", headerOf(headers, "x-forwarded-for"));
  let isFinished = false;

  function finish({ status, headers: answered, body, keyId, code }: GraphqlResponse, isLast: boolean): void {
    if (isFinished) return;
    isFinished = true;
    const isGone = socket.destroyed;
    if (!isGone) {
      response.writeHead(status, {
        ...answered,
        ...(body === null ? {} : { "content-length": Buffer.byteLength(body) }),
        "x-request-id": requestId,
        ...(isLast ? { connection: "close" } : {}),
      });
      response.end(method === "HEAD" ? null : body);
      request.resume();
    }
    inFlight.delete(exchange);
    // The rest of a body that nobody wants is read, for a while: else the client would not get to the answer.
    if (!isGone) {
      connections.watch(socket, request.complete && !state.isStopping ? options.idleTimeout : REST_TIMEOUT);
    }
    options.logAccess?.({
      time,
      requestId,
      address,
      method,
      path: redactSecrets(url.split("?", 1)[0]?.slice(0, LONGEST_PATH) ?? ""),
      status: isGone ? 499 : status,
      duration: performance.now() - start,
      keyId,
      code,
    });
  }

  const exchange: Exchange = { socket, cutOff: () => finish(CUT_OFF, true) };
  if (state.isStopping) return finish(STOPPING, true);
  inFlight.add(exchange);
  connections.watch(socket, options.requestTimeout, () => finish(request.complete ? TOO_SLOW : NEVER_CAME, true));
  finish(
    await answer({
      method,
      url,
      header: (name) => headerOf(headers, name),
      body: () => readBody(request, options.maxBody),
      address,
      requestId,
      isWanted: () => !isFinished && !socket.destroyed,
    }),
    false,
  );
}

/** Whether a request id that somebody gives can be passed on. */
function isRequestId(given: string): boolean {
  return REQUEST_ID.test(given) && redactSecrets(given) === given;
}

function headerOf(headers: IncomingMessage["headers"], name: string): string | null {
  const value = headers[name];
  return value === undefined ? null : typeof value === "string" ? value : value.join(", ");
}

/** How long a connection without a request may still last, when the server stops, in milliseconds. */
const LAST_CHANCE = 200;

/** How often connections that have nothing to do any more are closed while the server stops, in milliseconds. */
const CLOSING_INTERVAL = 20;

async function stop(server: Server, state: State, timeout: number): Promise<number> {
  const { connections, inFlight } = state;
  const deadline = performance.now() + timeout;
  state.isStopping = true;
  // Node takes a connection for busy on which a request has but begun to come in.
  connections.hurry(LAST_CHANCE, new Set([...inFlight].map(({ socket }) => socket)));
  let isClosed = false;
  server.close(() => isClosed = true);
  while (!(isClosed && inFlight.size === 0) && performance.now() < deadline) {
    server.closeIdleConnections();
    // deno-lint-ignore no-await-in-loop -- it looks again
    await new Promise((resolve) => setTimeout(resolve, CLOSING_INTERVAL));
  }
  const unfinished = [...inFlight].filter(({ socket }) => !socket.destroyed);
  for (const { cutOff } of inFlight) cutOff();
  if (unfinished.length > 0) await new Promise((sent) => setTimeout(sent, CLOSING_INTERVAL));
  connections.end();
  return unfinished.length;
}
