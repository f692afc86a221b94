/**
 * Assembles the HTTP server that `serve` runs: client addresses, telemetry, handlers, the listener, and periodic tasks on
 * the store. The other modules of this folder read HTTP requests and pass them to `graphql/`.
 */
import type { KeyCounts, KeyStore } from "../../store/key_store.ts";
import { sha256 } from "../auth/sha256.ts";
import { createIntrospectHandler } from "../gate/introspect.ts";
import { createVerifyHandler } from "../gate/verify.ts";
import { createGraphqlHandler } from "../graphql/handler.ts";
import { DEFAULT_LIMITS, type DocumentLimits } from "../graphql/limits.ts";
import { createRetention } from "../keys/audit_retention.ts";
import type { Lifetimes } from "../keys/expiry.ts";
import type { Observer } from "../telemetry/observer.ts";
import { traceStore } from "../telemetry/traced_store.ts";
import { openTelemetry } from "../telemetry/tracing.ts";
import { behindProxies, proxyMatcher } from "./client_address.ts";
import { type HttpServer, listen, type ListenOptions } from "./listener.ts";
import { type MetricsAddress, serveMetrics } from "./metrics_listener.ts";
import { readiness, route } from "./routes.ts";

export interface HttpServerOptions extends Omit<ListenOptions, "clientAddress" | "isProxy" | "path" | "addressFlags"> {
  readonly limits: Omit<DocumentLimits, "responseSize">;
  readonly lifetimes?: Lifetimes | undefined;
  /** How many times per minute a client address may fail to authenticate; 0 for no limit. */
  readonly maxAuthFailures: number;
  /** IP addresses and networks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
  /** How long events stay in the audit trail, in milliseconds; `undefined` keeps them forever. */
  readonly auditRetention: number | undefined;
  /**
   * How long the server waits before it deletes old audit events, for the first time and each time after, in
   * milliseconds.
   *
   * @default 3600000
   */
  readonly retentionInterval?: number | undefined;
  /** Where to serve metrics. Without an address, the server measures nothing. */
  readonly metrics?: MetricsAddress | undefined;
  /** Whether the user expects OpenTelemetry, because `OTEL_DENO` is set. */
  readonly expectsTelemetry: boolean;
  /** See `FailureThrottle`. */
  readonly clock?: (() => number) | undefined;
  readonly now: () => Date;
}

export interface MeasuredServer extends HttpServer {
  /** The URL of the metrics; `undefined` if the server measures nothing. */
  readonly metricsUrl: string | undefined;
  /** Counts the keys of the store. Reads every key. */
  readonly countKeys: () => Promise<KeyCounts>;
}

/** How often the server writes the times of last use and the counts of refused changes to the store, in milliseconds. */
const WRITE_INTERVAL = 30_000;

/** The default of `retentionInterval`, in milliseconds. */
const RETENTION_INTERVAL = 3_600_000;

/**
 * Serves a store over HTTP.
 *
 * @returns the server; stopping it closes the store
 * @throws {Failure} `USAGE` if the server cannot listen on the address, or if a trusted proxy is neither an IP address nor
 * a network
 */
export async function serveHttp(untracedStore: KeyStore, options: HttpServerOptions): Promise<MeasuredServer> {
  const { now, logError, trustedProxies, auditRetention: retention, retentionInterval = RETENTION_INTERVAL } = options;
  const clientAddress = behindProxies(trustedProxies);
  const trace = openTelemetry();
  if (trace === undefined && options.expectsTelemetry) {
    logError("OTEL_DENO is set, but this executable was compiled without OpenTelemetry. See the README.", {});
  }
  const tracedStore = trace === undefined ? untracedStore : traceStore(untracedStore, trace);
  const isStoreUp = readiness(tracedStore, logError);
  const metrics = options.metrics &&
    (await import("#metrics")).createMetrics({ ...options, store: tracedStore, isStoreUp });
  const store = metrics === undefined ? tracedStore : traceStore(tracedStore, metrics.observer.store);
  const { handle, writePending, authenticator, refusals } = createGraphqlHandler({
    ...options,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    store,
    hashSecret: sha256,
  });
  const gate = { authenticator, refusals, observer: metrics?.observer, now, logError };
  const endpoints = { graphql: handle, verify: createVerifyHandler(gate), introspect: createIntrospectHandler(gate) };
  const logAccess = metrics === undefined ? options.logAccess : observeAccess(metrics.observer, options.logAccess);
  const metricsServer = metrics && options.metrics && await serveMetrics(metrics, options.metrics, options);
  const server = await listen(
    { ...options, logAccess, clientAddress, isProxy: proxyMatcher(trustedProxies) },
    route(endpoints, store, logError),
  ).catch(async (error) => {
    await metricsServer?.stop(0);
    throw error;
  });

  const writeOrLog = (): Promise<void> =>
    writePending().catch((error) => logError("Could not write the times of last use: {error}", { error }));
  const timers = [setInterval(writeOrLog, WRITE_INTERVAL)];
  let retaining = Promise.resolve();
  if (retention !== undefined) {
    const dropOldEvents = createRetention({ store, retention, now, elapsed: () => performance.now() });
    const dropNext = (): Promise<void> =>
      dropOldEvents().catch((error) => logError("Could not delete old events of the audit trail: {error}", { error }));
    timers.push(setInterval(() => retaining = retaining.then(dropNext), retentionInterval));
  }

  return {
    url: server.url,
    metricsUrl: metricsServer?.url,
    countKeys: () => untracedStore.countKeys(),
    setCertificate: server.setCertificate,
    stop: async (timeout) => {
      timers.forEach(clearInterval);
      const [unfinished] = await Promise.all([server.stop(timeout), metricsServer?.stop(timeout)]);
      await writeOrLog();
      await retaining;
      await store.close();
      return unfinished;
    },
  };
}

/** Counts and measures each request, and passes it on to the access log if there is one. */
function observeAccess(observer: Observer, logAccess: ListenOptions["logAccess"]): ListenOptions["logAccess"] {
  return (entry) => {
    observer.request(entry.path, entry.status, entry.duration / 1000);
    logAccess?.(entry);
  };
}
