/** From settings to a client: over the network, or to the embedded server in this process. */
import type { Client } from "../client/client.ts";
import type { Endpoint } from "../client/transport.ts";
import { Failure } from "../apikey/failure.ts";
import type { Host } from "./host.ts";
import type { Log } from "./log.ts";
import type { Settings } from "./settings.ts";

/** A client that is to be closed after use: `await using connection = await connect(settings, host)`. */
export interface Connection extends Client, AsyncDisposable {}

type Fetch = Endpoint["fetch"];

/**
 * Makes the client that the settings ask for. Loads the server's code only for the embedded server.
 *
 * @throws {Failure} when the store of the embedded server cannot be used
 */
export async function connect(settings: Settings, host: Host, log: Log): Promise<Connection> {
  const { createClient } = await import("../client/client.ts");
  const { endpoint, headers, timeout } = settings;
  await using resources = new AsyncDisposableStack();
  const fetch = endpoint === null
    ? await embeddedFetch(settings, host, log, resources)
    : await networkFetch(settings, host);
  const interruption = new AbortController();
  resources.defer(host.onSignal(["SIGINT"], () => interruption.abort()));
  const client = createClient({
    url: endpoint?.href ?? "http://localhost/graphql",
    label: endpoint?.host ?? "the embedded server",
    headers,
    timeout,
    interrupted: interruption.signal,
    debug: (message, properties) => log.debug(message, properties),
    fetch,
  });
  const owned = resources.move();
  return { ...client, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function embeddedFetch(
  { dataDir, timeout }: Settings,
  host: Host,
  log: Log,
  resources: AsyncDisposableStack,
): Promise<Fetch> {
  if (dataDir === null) throw new TypeError("no data directory");
  const [{ createGraphqlHandler }, { LOCAL_CALLER }, { openSqliteStore }] = await Promise.all([
    import("../server/handler.ts"),
    import("../server/caller.ts"),
    import("../store/sqlite.ts"),
  ]);
  const store = resources.use(await openSqliteStore({ directory: dataDir, busyTimeout: timeout }));
  return createGraphqlHandler({
    store,
    anonymous: LOCAL_CALLER,
    now: () => host.now(),
    logError: (message, properties) => log.error(message, properties),
  });
}

async function networkFetch({ endpoint, caCertificates }: Settings, host: Host): Promise<Fetch> {
  if (endpoint?.protocol !== "https:") return fetch;
  const { systemCertificates } = await import("../client/system_certificates.ts");
  const caCerts = caCertificates === null ? await systemCertificates(host.env("SSL_CERT_FILE")) : [caCertificates];
  try {
    const client = Deno.createHttpClient({ caCerts: [...caCerts] });
    return (request) => fetch(request, { client });
  } catch (error) {
    throw new Failure("TLS", "The certificates of --ca-file cannot be used: they are not valid PEM.", { cause: error });
  }
}
