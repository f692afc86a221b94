/** Runs the HTTP server for tests, on a free port of 127.0.0.1. */
import { DEFAULT_LIMITS } from "../../../src/server/graphql/limits.ts";
import { type HttpServerOptions, type MeasuredServer, serveHttp } from "../../../src/server/http/http_server.ts";
import type { HttpServer } from "../../../src/server/http/listener.ts";
import type { AccessLogEntry } from "../../../src/server/http/request_handler.ts";
import type { KeyStore } from "../../../src/store/key_store.ts";
import { openSqliteStore } from "../../../src/store/sqlite.ts";
import { inTemporaryDirectory } from "../../store/temporary_store.ts";
import { type ErrorLog, type Fetch, serverOver, type TestServer } from "../graphql/graphql.ts";

/**
 * Serves a store on a free port of 127.0.0.1 and keeps audit events forever. All other options have the defaults of
 * `serve`. `options` overrides any of these values. Stopping the server closes the store.
 */
export function startHttp(store: KeyStore, options: Partial<HttpServerOptions> = {}): Promise<MeasuredServer> {
  return serveHttp(store, {
    hostname: "127.0.0.1",
    port: 0,
    limits: DEFAULT_LIMITS,
    maxBody: 1_000_000,
    requestTimeout: 30_000,
    idleTimeout: 75_000,
    maxAuthFailures: 20,
    maxConnections: 1000,
    maxPerAddress: 256,
    trustedProxies: [],
    auditRetention: undefined,
    expectsTelemetry: false,
    now: () => new Date(),
    logError: () => {},
    ...options,
  });
}

/** An HTTP server with its own store. */
export interface HttpTest extends Pick<TestServer, "local" | "create" | "keyWith"> {
  /** The URL of the GraphQL endpoint. */
  readonly url: string;
  /** The URL of the metrics; empty without the option `metrics`. */
  readonly metricsUrl: string;
  /** Returns the URL of a path on this server. */
  readonly at: (path: string) => string;
  readonly server: Pick<HttpServer, "url" | "stop">;
  /** The store itself, even if the server uses a wrapper around it. */
  readonly store: KeyStore;
  /** Sends requests over HTTP. */
  readonly network: Fetch;
  readonly errorLog: ErrorLog;
  readonly accessLog: readonly AccessLogEntry[];
}

export interface HttpTestOptions extends Partial<HttpServerOptions> {
  /** Wraps the store before the server uses it. */
  readonly wrap?: (store: KeyStore) => KeyStore;
}

/** Runs a test on a new HTTP server with a new store. */
export function withHttp(test: (server: HttpTest) => Promise<void>, options: HttpTestOptions = {}): Promise<void> {
  return inTemporaryDirectory(async (directory) => {
    const store = await openSqliteStore({ directory, busyTimeout: 5000 });
    const { wrap = (same) => same, ...serverOptions } = options;
    const errorLog: { message: string; properties: Record<string, unknown> }[] = [];
    const accessLog: AccessLogEntry[] = [];
    const server = await startHttp(wrap(store), {
      logError: (message, properties) => void errorLog.push({ message, properties }),
      logAccess: (entry) => void accessLog.push(entry),
      ...serverOptions,
    });
    const { url, metricsUrl = "" } = server;
    let isStopped = false;
    const stop = (timeout: number): Promise<number> => {
      isStopped = true;
      return server.stop(timeout);
    };
    const at = (path: string): string => new URL(path, url).href;
    try {
      const network = fetchFrom(url);
      await test({
        ...serverOver(store),
        url,
        metricsUrl,
        at,
        server: { url, stop },
        store,
        network,
        errorLog,
        accessLog,
      });
    } finally {
      if (!isStopped) await server.stop(1000);
    }
  });
}

/** Creates a key with the role ADMIN, and returns a header that authenticates with this key. */
export async function bearer({ create }: Pick<HttpTest, "create">): Promise<Readonly<Record<string, string>>> {
  const { key } = await create({ name: "admin", roles: ["ADMIN"] });
  return { Authorization: `Bearer ${key}` };
}

/** Returns the path for sending a GraphQL query with GET. */
export function pathOf(query: string): string {
  return `/graphql?query=${encodeURIComponent(query)}`;
}

/** Sends a request and returns only the status of the response. */
export async function statusOf(...request: Parameters<typeof fetch>): Promise<number> {
  const response = await fetch(...request);
  await response.body?.cancel();
  return response.status;
}

/** Returns a function that sends GraphQL requests to an HTTP server. */
export function fetchFrom(url: string): Fetch {
  return async ({ method, headers, url: requested, body, ...request }) =>
    await fetch(`${url}${new URL(requested).search}`, {
      method,
      headers,
      ...(body === null ? {} : { body: await new Response(body).bytes() }),
      ...request,
    });
}
