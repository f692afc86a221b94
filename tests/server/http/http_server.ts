/** The server on HTTP, on a free port of 127.0.0.1. */
import { type HttpServerOptions, serveHttp } from "../../../src/server/http/routes.ts";
import { DEFAULT_LIMITS } from "../../../src/server/graphql/limits.ts";
import type { Access, HttpServer } from "../../../src/server/http/listener.ts";
import type { KeyStore } from "../../../src/store/key_store.ts";
import { openSqliteStore } from "../../../src/store/sqlite.ts";
import { inTemporaryDirectory } from "../../store/temporary_store.ts";
import { type ErrorLog, type Handler, serverOver, type TestServer } from "../graphql/graphql.ts";

/** Serves a store, with the defaults of `serve` but for what is given. Stopping the server closes the store. */
export function startHttp(store: KeyStore, options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  return serveHttp(store, {
    hostname: "127.0.0.1",
    port: 0,
    limits: DEFAULT_LIMITS,
    maxBody: 1_000_000,
    requestTimeout: 30_000,
    idleTimeout: 75_000,
    maxAuthFailures: 20,
    trustedProxies: [],
    auditRetention: undefined,
    expectsTelemetry: false,
    now: () => new Date(),
    logError: () => {},
    ...options,
  });
}

/** A server on HTTP over a store of its own. */
export interface HttpTest extends Pick<TestServer, "local" | "create" | "keyWith"> {
  /** Of GraphQL. */
  readonly url: string;
  /** The URL of another path. */
  readonly at: (path: string) => string;
  readonly server: HttpServer;
  /** The store as it is, whatever the server has been given in its place. */
  readonly store: KeyStore;
  /** Asks over HTTP. */
  readonly network: Handler;
  readonly errorLog: ErrorLog;
  /** What the access log was told, in that order. */
  readonly accesses: readonly Access[];
}

export interface HttpTestOptions extends Partial<HttpServerOptions> {
  /** What the server is given in place of the store. */
  readonly wrap?: (store: KeyStore) => KeyStore;
}

/** Runs a test on a new server on HTTP over a new store. */
export function withHttp(test: (server: HttpTest) => Promise<void>, options: HttpTestOptions = {}): Promise<void> {
  return inTemporaryDirectory(async (directory) => {
    const store = await openSqliteStore({ directory, busyTimeout: 5000 });
    const { wrap = (same) => same, ...serverOptions } = options;
    const errorLog: { message: string; properties: Record<string, unknown> }[] = [];
    const accesses: Access[] = [];
    const server = await startHttp(wrap(store), {
      logError: (message, properties) => void errorLog.push({ message, properties }),
      logAccess: (access) => void accesses.push(access),
      ...serverOptions,
    });
    const { local, create, keyWith } = serverOver(store);
    let isStopped = false;
    const once: HttpServer = {
      url: server.url,
      stop: (timeout) => {
        isStopped = true;
        return server.stop(timeout);
      },
    };
    try {
      const at = (path: string): string => new URL(path, server.url).href;
      await test({
        url: server.url,
        at,
        server: once,
        store,
        local,
        create,
        keyWith,
        network: fetchAt(server.url),
        errorLog,
        accesses,
      });
    } finally {
      if (!isStopped) await server.stop(1000);
    }
  });
}

/** Sends requests for GraphQL to a server on HTTP. */
export function fetchAt(url: string): Handler {
  return async ({ method, headers, url: asked, body, ...request }) =>
    await fetch(`${url}${new URL(asked).search}`, {
      method,
      headers,
      ...(body === null ? {} : { body: await new Response(body).bytes() }),
      ...request,
    });
}
