/** Selects the handler of a request by its path: GraphQL, the gate, or a health probe, which needs no key. */
import type { KeyStore } from "../../store/key_store.ts";
import type { Handler, HttpResponse } from "../graphql/http_message.ts";
import type { LogError } from "../telemetry/log_error.ts";

/** The handlers of the paths that need a key. */
export interface Endpoints {
  readonly graphql: Handler;
  /** Also handles the paths below `/verify/`. */
  readonly verify: Handler;
  readonly introspect: Handler;
}

/**
 * Returns a handler that selects another handler by the exact path of the request. The path is neither decoded nor
 * normalized, so a client cannot disguise it.
 */
export function route({ graphql, verify, introspect }: Endpoints, store: KeyStore, logError: LogError): Handler {
  const handlers: ReadonlyMap<string, Handler> = new Map<string, Handler>([
    ["/graphql", graphql],
    ["/verify", verify],
    ["/introspect", introspect],
    ["/healthz", probe(() => Promise.resolve(true))],
    ["/readyz", probe(readiness(store, logError))],
  ]);
  return (request) => {
    const { url } = request;
    if (url.startsWith("/verify/")) return verify(request);
    const end = url.indexOf("?");
    return handlers.get(end < 0 ? url : url.slice(0, end))?.(request) ??
      Promise.resolve(text(404, "Not found. GraphQL is at /graphql.\n"));
  };
}

/** Reports whether a check succeeds. The response gives no reason, because clients without a key can read it. */
function probe(check: () => Promise<boolean>): Handler {
  return async ({ method }) => {
    if (method !== "GET" && method !== "HEAD") return text(405, "Use GET.\n", { allow: "GET, HEAD" });
    return await check() ? text(200, "ok\n") : text(503, "The store is unavailable.\n", { "retry-after": "1" });
  };
}

/** Returns a response of plain text. */
export function text(status: number, body: string, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", ...headers },
    body,
  };
}

/** How long the result of a readiness check stays valid, in milliseconds. */
const READINESS_AGE = 1000;

/**
 * Creates a check that reports whether the store responds. The check queries the store at most once per second, because
 * any client can send probes.
 *
 * @param clock returns the time on a monotonic clock, in milliseconds
 */
export function readiness(
  store: Pick<KeyStore, "checkHealth">,
  logError: LogError,
  clock: () => number = () => performance.now(),
): () => Promise<boolean> {
  let checkedAt = -Infinity;
  let result = Promise.resolve(true);
  return () => {
    if (clock() > checkedAt + READINESS_AGE) {
      checkedAt = clock();
      result = store.checkHealth().then(() => true, (error) => {
        logError("The store is unavailable: {error}", { error });
        return false;
      });
    }
    return result;
  };
}
