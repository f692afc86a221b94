/** From settings to a client: over the network, or to the embedded server in this process. */
import { Failure } from "../../apikey/failure.ts";
import type { Client } from "../../client/client.ts";
import type { Endpoint } from "../../client/endpoint.ts";
import { isLoopback } from "../settings/base_url.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import type { ServerFlags } from "../settings/server_flags.ts";
import { type EmbeddedServer, type NetworkServer, readSettings, type Settings } from "./settings.ts";

/**
 * Does something that takes a client, and closes the connection whatever comes of it. Settings are read at once; the
 * connection is opened when it is first asked for, so that a question can be on the screen before.
 */
export type WithClient = <Result>(action: ClientAction<Result>) => Promise<Result>;

/** @param interrupted aborted by SIGINT or SIGTERM, at whatever moment */
type ClientAction<Result> = (connect: () => Promise<Client>, interrupted: AbortSignal) => Promise<Result>;

/**
 * Asks the server that the flags and the environment name. Loads the server's code only for the embedded one.
 *
 * @returns a function that throws {@linkcode Failure} when the settings are wrong, when the store of the
 * embedded server cannot be used, and whatever `act` throws
 */
export function withClient(flags: ServerFlags, host: Host, log: Log): WithClient {
  return async (act) => await withClientOf(await readSettings(flags, host, log), host, log)(act);
}

/** Asks the server of settings that are read already. */
export function withClientOf(settings: Settings, host: Host, log: Log): WithClient {
  return async (act) => {
    const interruption = new AbortController();
    const restore = host.onSignal(["SIGINT", "SIGTERM"], () => interruption.abort());
    try {
      return await askOver(settings, host, log, interruption.signal, act);
    } finally {
      restore();
    }
  };
}

async function askOver<Result>(
  settings: Settings,
  host: Host,
  log: Log,
  interrupted: AbortSignal,
  act: ClientAction<Result>,
): Promise<Result> {
  const { server, headers, timeout } = settings;
  let route: Route | undefined;
  const connect = async (): Promise<Client> => {
    route ??= server.kind === "network"
      ? await openNetwork(server, host)
      : await openEmbedded(server, timeout, interrupted, host, log);
    const { createClient } = await import("#client");
    const { fetch, label } = route;
    return createClient({
      ...route,
      fetch: async (request) => {
        const answer = fetch(request);
        if (!host.stderr.isTerminal()) return await answer;
        const { withSpinner } = await import("#terminal");
        return await withSpinner(`Waiting for ${label}`, host, answer);
      },
      headers,
      timeout,
      interrupted,
      debug: log.debug,
    });
  };
  try {
    return await act(connect, interrupted);
  } finally {
    // What the server did is done and on disk: an error here must not hide it.
    await route?.close().catch((error) => log.error("Closing failed: {error}", { error }));
  }
}

/** The way to a server. */
interface Route extends Pick<Endpoint, "url" | "label" | "keyRemedy" | "fetch"> {
  close(): Promise<void>;
}

async function openEmbedded(
  { location }: EmbeddedServer,
  timeout: number,
  signal: AbortSignal,
  host: Host,
  log: Log,
): Promise<Route> {
  const [{ openLocalServer }, { DOCUMENTS }] = await Promise.all([
    import("#server"),
    import("#client"),
  ]);
  const server = await openLocalServer({
    location,
    busyTimeout: timeout,
    signal,
    validDocuments: DOCUMENTS,
    now: () => host.now(),
    logError: log.error,
  });
  return {
    url: "http://localhost/graphql",
    label: "the embedded server",
    keyRemedy: "No server is named, so that the embedded one was asked: name the key's server with --base-url or " +
      "SERVICE_API_URL, or give no key.",
    ...server,
  };
}

async function openNetwork({ endpoint, caCertificates }: NetworkServer, host: Host): Promise<Route> {
  const to = {
    url: endpoint.href,
    label: endpoint.host,
    keyRemedy: "Give a valid key with SERVICE_API_KEY or --key-file, or store one with service-api login.",
  };
  const client = await specialClient(endpoint, caCertificates, host);
  if (client === undefined) return { ...to, fetch, close: () => Promise.resolve() };
  return {
    ...to,
    fetch: (request) => fetch(request, { client }),
    close: () => Promise.resolve(client.close()),
  };
}

async function specialClient(
  endpoint: URL,
  caCertificates: string | undefined,
  host: Host,
): Promise<Deno.HttpClient | undefined> {
  if (endpoint.protocol === "https:") return await trusting(caCertificates, host);
  const proxied = PROXY_VARIABLES.some((name) => host.env(name) !== undefined);
  return proxied && isLoopback(endpoint.hostname) ? direct(endpoint) : undefined;
}

const PROXY_VARIABLES = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/** Past the proxy of the environment: a key goes in clear to this machine and no other. */
function direct({ hostname, port }: URL): Deno.HttpClient {
  const address = hostname.replace(/^\[(.*)\]$/, "$1");
  return Deno.createHttpClient({ proxy: { transport: "tcp", hostname: address, port: Number(port || 80) } });
}

async function trusting(caCertificates: string | undefined, host: Host): Promise<Deno.HttpClient> {
  const { systemCertificates } = await import("../../client/system_certificates.ts");
  const caCerts = caCertificates === undefined ? await systemCertificates(host.env("SSL_CERT_FILE")) : [caCertificates];
  try {
    return Deno.createHttpClient({ caCerts });
  } catch (error) {
    throw new Failure("TLS", "The certificates to trust cannot be read: are they valid PEM?", { cause: error });
  }
}
