/** Listens for HTTP or HTTPS on one address, limits how long connections may take, and stops the server. */
import { createServer, type Server } from "node:http";
import type { Socket } from "node:net";
import { Failure, reasonOf } from "../../apikey/failure.ts";
import type { Handler } from "../graphql/http_message.ts";
import { watchAccepting } from "./accept_watchdog.ts";
import { type ConnectionLimitOptions, limitConnections } from "./connection_limits.ts";
import { ConnectionTimeouts } from "./connection_timeouts.ts";
import { rejectMalformed, rejectUpgrades } from "./error_responses.ts";
import { shutDown } from "./graceful_shutdown.ts";
import { PendingRequests } from "./pending_requests.ts";
import { Pipelines } from "./pipelines.ts";
import { handleRequest, type RequestOptions, type RequestServices, type ServerState } from "./request_handler.ts";

/** A certificate and its private key, in PEM. */
export interface Certificate {
  /** The certificate, followed by the intermediate certificates. */
  readonly cert: string;
  readonly key: string;
}

export interface ListenOptions extends RequestOptions, ConnectionLimitOptions {
  /** An IP address or a host name. */
  readonly hostname: string;
  /** 0 picks a free port. */
  readonly port: number;
  /**
   * The path of the endpoint, in the URL of the server.
   *
   * @default "/graphql"
   */
  readonly path?: string | undefined;
  /**
   * The flags with which the user can choose another address.
   *
   * @default "--host or --port"
   */
  readonly addressFlags?: string | undefined;
  /** Without a certificate, the server uses unencrypted HTTP. */
  readonly tls?: Certificate | undefined;
  /**
   * How long a client may take for the TLS handshake, and then for the headers of its first request, in milliseconds.
   *
   * @default 10000
   */
  readonly headersTimeout?: number | undefined;
}

export interface HttpServer {
  /** The URL of the endpoint, with the actual port. */
  readonly url: string;
  /**
   * Uses another certificate for new connections.
   *
   * @throws {Failure} `USAGE` if the server uses unencrypted HTTP, or if the runtime is too old
   */
  setCertificate(certificate: Certificate): void;
  /**
   * Stops accepting requests and waits for the requests in progress.
   *
   * @param timeout how long to wait, in milliseconds; then the remaining requests are answered with an error
   * @returns how many requests were not finished in time
   */
  stop(timeout: number): Promise<number>;
}

/**
 * Starts a server that answers requests with `handler`.
 *
 * @throws {Failure} `USAGE` if the server cannot listen on the address
 */
export async function listen(options: ListenOptions, handler: Handler): Promise<HttpServer> {
  const { hostname, port, path = "/graphql", addressFlags = "--host or --port", tls } = options;
  const { requestTimeout, idleTimeout, headersTimeout = 10_000, logError } = options;
  const pending = new PendingRequests();
  const timeouts = new ConnectionTimeouts(Math.min(requestTimeout, idleTimeout, headersTimeout), pending);
  const server = await createHttpServer(tls, headersTimeout);
  const pipelines = new Pipelines(rejectUpgrades(server, (request, response) => {
    handleRequest(request, response, services).catch((error) => {
      logError("Could not answer a request: {error}", { error });
      response.destroy();
    });
  }));
  const state: ServerState = { timeouts, isStopping: false, pending, pipelines };
  const services: RequestServices = { options, handler, state };
  pipelines.attach(server, tls !== undefined);
  server.on("connection", limitConnections(options));
  limitHeaders(server, tls !== undefined, timeouts, headersTimeout);
  server.on("clientError", rejectMalformed);
  try {
    await bind(server, hostname, port);
  } catch (error) {
    timeouts.destroyAll();
    throw new Failure(
      "USAGE",
      `Cannot listen on ${hostname} port ${port}: ${reasonOf(error)}. Choose another ${addressFlags}.`,
      { cause: error },
    );
  }
  server.on("error", (error) => logError("The HTTP server failed: {error}", { error }));
  const address = server.address();
  const actualPort = typeof address === "object" && address !== null ? address.port : port;
  const stopWatching = watchAccepting(server, hostname, actualPort, logError);
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    url: `http${tls === undefined ? "" : "s"}://${host}:${actualPort}${path}`,
    setCertificate: (certificate) => {
      if (!("setSecureContext" in server) || typeof server.setSecureContext !== "function") {
        throw new Failure("USAGE", "This executable cannot replace the certificate. Restart the server.");
      }
      server.setSecureContext({ ...certificate, minVersion: MIN_TLS_VERSION });
    },
    stop: (timeout) => {
      stopWatching();
      return shutDown(server, state, timeout);
    },
  };
}

const MIN_TLS_VERSION = "TLSv1.2";

async function createHttpServer(tls: ListenOptions["tls"], handshakeTimeout: number): Promise<Server> {
  if (tls === undefined) return createServer();
  const https = await import("node:https");
  return https.createServer({ ...tls, handshakeTimeout, minVersion: MIN_TLS_VERSION });
}

/** Sets the first deadline of each connection. Each request later sets its own deadline. */
function limitHeaders(server: Server, isTls: boolean, timeouts: ConnectionTimeouts, headersTimeout: number): void {
  // When the TLS handshake ends, the connection gets another socket object, but its port stays the same.
  const handshakesByPort = new Map<number | undefined, Socket>();
  const limit = (socket: Socket): void => {
    timeouts.set(socket, headersTimeout);
    socket.on("close", () => timeouts.clear(socket));
  };
  server.on("connection", (socket: Socket) => {
    limit(socket);
    if (!isTls) return;
    handshakesByPort.set(socket.remotePort, socket);
    socket.on("close", () => handshakesByPort.delete(socket.remotePort));
  });
  server.on("secureConnection", (socket: Socket) => {
    const handshake = handshakesByPort.get(socket.remotePort);
    if (handshake !== undefined) timeouts.clear(handshake);
    handshakesByPort.delete(socket.remotePort);
    limit(socket);
  });
  // Turns off the timeouts of the runtime. `ConnectionTimeouts` replaces them, because older runtimes support only some.
  server.keepAliveTimeout = 0;
  server.headersTimeout = 0;
  server.requestTimeout = 0;
}

function bind(server: Server, hostname: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, hostname, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
