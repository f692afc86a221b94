/** The embedded server on HTTP: what answers at which path, and what has to be done from time to time. */
import { hash } from "node:crypto";
import type { KeyStore } from "../../store/key_store.ts";
import { behindProxies } from "./client_address.ts";
import type { GraphqlRequest, GraphqlResponse, Handler, LogSink } from "../graphql/messages.ts";
import { createGraphqlHandler } from "../graphql/handler.ts";
import type { DocumentLimits } from "../graphql/limits.ts";
import { type HttpServer, listen, type ListenOptions } from "./listener.ts";
import { openTelemetry } from "../telemetry.ts";
import { traced } from "../traced_store.ts";

export interface HttpServerOptions extends Omit<ListenOptions, "clientAddress"> {
  readonly limits: DocumentLimits;
  /** How often an address may fail to authenticate within a minute; 0 for any number. */
  readonly maxAuthFailures: number;
  /** IP addresses and networks of proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  /** How long events stay in the audit trail, in milliseconds; `undefined` for ever. */
  readonly auditRetention: number | undefined;
  /** Whether the user counts on OpenTelemetry. */
  readonly expectsTelemetry: boolean;
  readonly now: () => Date;
}

/** How often the times of last use are written, in milliseconds: together with the writing, less than a minute. */
const LAST_USE_INTERVAL = 30_000;

/** How often old events are dropped, in milliseconds. */
const RETENTION_INTERVAL = 3_600_000;

/**
 * Serves the keys of a store.
 *
 * @returns the server; stopping it closes the store too
 * @throws {Failure} `USAGE` when the address cannot be listened on, or a proxy is none
 */
export async function serveHttp(opened: KeyStore, options: HttpServerOptions): Promise<HttpServer> {
  const { now, logError, trustedProxies, auditRetention } = options;
  const clientAddress = behindProxies(trustedProxies);
  const trace = openTelemetry();
  if (trace === undefined && options.expectsTelemetry) {
    logError("OTEL_DENO is set, but this executable was compiled without OpenTelemetry; see the README.", {});
  }
  const store = trace === undefined ? opened : traced(opened, trace);
  const hashSecret = (secret: string): string => hash("sha256", secret);
  const { answer, lastUse } = createGraphqlHandler({ ...options, store, hashSecret });
  const server = await listen({ ...options, clientAddress }, route(answer, readiness(store, logError)));

  const writeUses = (): Promise<void> =>
    lastUse.write().catch((error) => logError("The times of last use were not written: {error}", { error }));
  const dropOldEvents = async (): Promise<void> => {
    if (auditRetention === undefined) return;
    await store.dropEventsBefore(new Date(now().getTime() - auditRetention)).catch((error) =>
      logError("Old events of the audit trail were not dropped: {error}", { error })
    );
  };
  const timers = [setInterval(writeUses, LAST_USE_INTERVAL), setInterval(dropOldEvents, RETENTION_INTERVAL)];
  void dropOldEvents();

  return {
    url: server.url,
    stop: async (timeout) => {
      timers.forEach(clearInterval);
      const unfinished = await server.stop(timeout);
      await writeUses();
      await store.close();
      return unfinished;
    },
  };
}

function route(answer: Handler, isReady: () => Promise<boolean>): Handler {
  const paths: ReadonlyMap<string, Handler> = new Map<string, Handler>([
    ["/graphql", answer],
    ["/healthz", (request) => probe(request, () => Promise.resolve(true))],
    ["/readyz", (request) => probe(request, isReady)],
  ]);
  return (request) => {
    const [path = ""] = request.url.split("?", 1);
    return paths.get(path)?.(request) ?? Promise.resolve(text(404, "GraphQL is at /graphql.\n"));
  };
}

/** Answers those who watch the server: no key is needed, and nothing is told but yes or no. */
async function probe({ method }: GraphqlRequest, isWell: () => Promise<boolean>): Promise<GraphqlResponse> {
  if (method !== "GET" && method !== "HEAD") return text(405, "Ask with GET.\n", { allow: "GET, HEAD" });
  return await isWell() ? text(200, "ok\n") : text(503, "The store is away.\n", { "retry-after": "1" });
}

function text(status: number, body: string, headers: Readonly<Record<string, string>> = {}): GraphqlResponse {
  return {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", ...headers },
    body,
  };
}

/** For how long an answer of the store is good for everybody who asks, in milliseconds. */
const READINESS_AGE = 1000;

/** Whether the store answers. Probes ask without a key: the store is not asked for each of them. */
function readiness(store: KeyStore, logError: LogSink): () => Promise<boolean> {
  let asked = -Infinity;
  let answer = Promise.resolve(true);
  return () => {
    if (performance.now() > asked + READINESS_AGE) {
      asked = performance.now();
      answer = store.isEmpty().then(() => true, (error) => {
        logError("The store does not answer: {error}", { error });
        return false;
      });
    }
    return answer;
  };
}
