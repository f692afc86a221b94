/**
 * The metrics of `--metrics-port`, in the text format of Prometheus. Loaded only with the flag. The labels have few
 * values, and no value comes from a client or from a key: no names, ids, addresses or unknown paths.
 */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { KeyCounts, KeyStore, PoolUse } from "../../store/key_store.ts";
import type { LogError } from "./log_error.ts";
import type { Observer, VerificationOutcome } from "./observer.ts";

export interface MetricsOptions {
  readonly store: Pick<KeyStore, "countKeys" | "poolUse">;
  /** Returns whether the store responds. Never rejects. */
  readonly isStoreUp: () => Promise<boolean>;
  readonly now: () => Date;
  readonly logError: LogError;
  /** Returns the time on a monotonic clock, in milliseconds. */
  readonly clock?: (() => number) | undefined;
}

export interface Metrics {
  readonly observer: Observer;
  /** The media type of the text that `render` returns. */
  readonly contentType: string;
  /** Returns all metrics as text. */
  readonly render: () => Promise<string>;
}

/** The values of the label `route`. All other paths are `other`. */
const ROUTES: readonly string[] = ["/graphql", "/verify", "/introspect", "/healthz", "/readyz"];

/** The values of the label `outcome`. */
const OUTCOMES: readonly VerificationOutcome[] = [
  "valid",
  "missing_key",
  "mistyped",
  "unknown",
  "disabled",
  "expired",
  "rotated",
  "insufficient_scope",
  "invalid_request",
  "unavailable",
];

/** The upper bounds of the histograms, in seconds. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The shortest time between two counts of the keys, in milliseconds. */
const COUNT_INTERVAL = 15_000;

/** Counting a million keys takes about a second. Counting may use this part of the time. */
const COUNT_SHARE = 0.01;

/** How long one scrape waits for the store to respond, and then for the counts, in milliseconds. Prometheus waits 10 s. */
const STORE_TIMEOUT = 4000;

export function createMetrics(
  { store, isStoreUp, now, logError, clock = () => performance.now() }: MetricsOptions,
): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: "service_api_http_requests_total",
    help: "HTTP requests, by route and status. Status 499: the client disconnected before the response.",
    labelNames: ["route", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "service_api_http_request_duration_seconds",
    help: "Time from the headers of a request to its response, by route.",
    labelNames: ["route"],
    buckets: BUCKETS,
    registers,
  });
  const verifications = new Counter({
    name: "service_api_verifications_total",
    help: "Checks of keys at /verify, by outcome.",
    labelNames: ["outcome"],
    registers,
  });
  const operations = new Histogram({
    name: "service_api_store_operation_duration_seconds",
    help: "Duration of operations of the store, by operation.",
    labelNames: ["operation"],
    buckets: BUCKETS,
    registers,
  });
  const storeUp = new Gauge({ name: "service_api_store_up", help: "1 if the store responds, otherwise 0.", registers });
  const keys = new Gauge({
    name: "service_api_keys",
    help: "Keys in the store when they were last counted, by state.",
    labelNames: ["state"],
    registers,
  });
  const nextExpiry = new Gauge({
    name: "service_api_next_key_expiry_seconds",
    help: "Time until the next active key expires. No value if no active key expires.",
    registers,
  });
  const memory = new Gauge({
    name: "process_resident_memory_bytes",
    help: "Memory of the process.",
    registers,
  });
  const setPoolUse = store.poolUse() === undefined ? undefined : registerPoolUse(registry);
  // Without a first value, Prometheus does not see the first increase.
  for (const outcome of OUTCOMES) verifications.inc({ outcome }, 0);

  let counts: KeyCounts | undefined;
  let counting: Promise<void> | undefined;
  let nextCountAt = -Infinity;

  async function countKeys(): Promise<void> {
    const start = clock();
    try {
      counts = await store.countKeys();
    } catch (error) {
      logError("Could not count the keys for the metrics: {error}", { error });
    }
    nextCountAt = clock() + Math.max(COUNT_INTERVAL, (clock() - start) / COUNT_SHARE);
    counting = undefined;
  }

  async function render(): Promise<string> {
    const isUp = await withTimeout(isStoreUp(), STORE_TIMEOUT) ?? false;
    storeUp.set(isUp ? 1 : 0);
    if (isUp && clock() >= nextCountAt) counting ??= countKeys();
    if (isUp && counting !== undefined) await withTimeout(counting, STORE_TIMEOUT);
    if (counts !== undefined) {
      for (const state of ["active", "disabled", "expired"] as const) keys.set({ state }, counts[state]);
    }
    const expiry = counts?.nextExpiry ?? null;
    if (expiry === null) nextExpiry.remove();
    else nextExpiry.set(Math.max(0, (expiry.getTime() - now().getTime()) / 1000));
    const pool = store.poolUse();
    if (pool !== undefined) setPoolUse?.(pool);
    memory.set(Deno.memoryUsage().rss);
    return await registry.metrics();
  }

  return {
    observer: {
      request: (path, status, seconds) => {
        const route = routeOf(path);
        requests.inc({ route, status });
        durations.observe({ route }, seconds);
      },
      verification: (outcome) => verifications.inc({ outcome }),
      store: async (operation, act) => {
        const start = performance.now();
        try {
          return await act();
        } finally {
          operations.observe({ operation }, (performance.now() - start) / 1000);
        }
      },
    },
    contentType: registry.contentType,
    render,
  };
}

/** Registers the metrics of a pool of connections, and returns a function that sets them. */
function registerPoolUse(registry: Registry): (use: PoolUse) => void {
  const registers = [registry];
  const connections = new Gauge({
    name: "service_api_store_pool_connections",
    help: "Connections to PostgreSQL, by state.",
    labelNames: ["state"],
    registers,
  });
  const limit = new Gauge({
    name: "service_api_store_pool_max_connections",
    help: "Maximum number of connections to PostgreSQL.",
    registers,
  });
  const waitingOperations = new Gauge({
    name: "service_api_store_pool_waiting_operations",
    help: "Operations of the store that wait for a connection to PostgreSQL.",
    registers,
  });
  return ({ busy, idle, max, waiting }) => {
    connections.set({ state: "busy" }, busy);
    connections.set({ state: "idle" }, idle);
    limit.set(max);
    waitingOperations.set(waiting);
  };
}

/** Returns the value of the label `route`. What follows `/verify/` is different for each configuration of a proxy. */
function routeOf(path: string): string {
  const route = path.startsWith("/verify/") ? "/verify" : path;
  return ROUTES.includes(route) ? route : "other";
}

/** Returns the result of a promise, or `undefined` if it takes too long. */
async function withTimeout<Result>(result: Promise<Result>, milliseconds: number): Promise<Result | undefined> {
  const { promise: timeout, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, milliseconds, undefined);
  return await Promise.race([result, timeout]).finally(() => clearTimeout(timer));
}
