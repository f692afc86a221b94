/** Serves the metrics of `--metrics-port` on an address of their own. They are never on the public port. */
import type { Handler } from "../graphql/http_message.ts";
import { type HttpServer, listen, type ListenOptions } from "./listener.ts";
import { text } from "./routes.ts";

/** Where to serve metrics. */
export interface MetricsAddress {
  /** An IP address or a host name. */
  readonly hostname: string;
  /** 0 picks a free port. */
  readonly port: number;
}

/** The text of all metrics, and its media type. */
export interface MetricsPage {
  readonly contentType: string;
  readonly render: () => Promise<string>;
}

/**
 * Serves metrics to clients without a key.
 *
 * @param options the options of the public server; its time limits apply to both
 * @throws {Failure} `USAGE` if the server cannot listen on the address
 */
export function serveMetrics(
  page: MetricsPage,
  { hostname, port }: MetricsAddress,
  options: Omit<ListenOptions, "clientAddress" | "isProxy">,
): Promise<HttpServer> {
  return listen({
    ...options,
    hostname,
    port,
    tls: undefined,
    path: "/metrics",
    addressFlags: "--metrics-host or --metrics-port",
    clientAddress: (address) => address,
    isProxy: () => false,
    logAccess: undefined,
  }, handlerOf(page));
}

function handlerOf({ contentType, render }: MetricsPage): Handler {
  return async ({ method, url }) => {
    if (url.split("?", 1)[0] !== "/metrics") return text(404, "Not found. Metrics are at /metrics.\n");
    if (method !== "GET" && method !== "HEAD") return text(405, "Use GET.\n", { allow: "GET, HEAD" });
    return text(200, await render(), { "content-type": contentType });
  };
}
