/**
 * Connects to the server that the settings select: a server on the network or the embedded server. This module is
 * loaded only if a command needs a connection or its settings, because it loads zod and the GraphQL client.
 */
import { Failure, quote } from "../../apikey/failure.ts";
import { type Client, createClient, DOCUMENTS } from "../../client/client.ts";
import type { Endpoint } from "../../client/endpoint.ts";
import { isLoopback } from "../settings/base_url.ts";
import type { KeySource, Target } from "../host/dialog.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import { writeNotes } from "../host/notes.ts";
import { showWaiting } from "../host/show_waiting.ts";
import type { EmbeddedServer, NetworkServer, Settings } from "./settings.ts";
import { type KeyRemedies, keyRemediesFor } from "./key_source.ts";
import { describePlace, describeServer, describeTarget, isStoreMissing, storePath } from "./target.ts";

export { describeTarget } from "./target.ts";
export { readEffectiveSettings, resolveSettings } from "./effective_settings.ts";
export { parseSettings, readSettings } from "./settings.ts";
export { BearerRefused, USUAL_KEY_HEADER } from "../../client/response_failure.ts";

/** Runs a task that needs a client, and closes the connection afterwards, whether or not the task succeeds. */
export type UseClient = <Result>(task: ClientTask<Result>) => Promise<Result>;

/**
 * @param connect opens the connection, so that a task can prompt before it connects. With `isAgain`, it closes an open
 * connection first.
 * @param interrupted aborted by SIGINT or SIGTERM
 */
type ClientTask<Result> = (
  connect: (isAgain?: boolean) => Promise<Client>,
  interrupted: AbortSignal,
  facts: ConnectionFacts,
) => Promise<Result>;

/** What a task may need to know about the settings. */
export interface ConnectionFacts {
  /** Returns the server or store, for messages. */
  readonly describePlace: () => string;
  /** Returns the server, for messages that do not concern the store of the embedded server. */
  readonly describeServer: () => string;
  /** Returns whether the settings select a store in a directory, and the store does not exist yet. */
  readonly isStoreMissing: () => boolean;
  /** The store of the embedded server; `undefined` if the settings select a server on the network. */
  readonly store: EmbeddedServer["location"] | undefined;
  readonly target: Target;
  /** Where the key in use comes from; `undefined` if there is none, or if it is not stored. */
  readonly keySource: KeySource | undefined;
  /** The value of `--timeout`, in milliseconds. */
  readonly timeout: number;
}

/**
 * Runs tasks with a client for validated settings.
 *
 * @param remedies what messages advise if the server rejects the key, instead of the usual advice
 */
export function withClientFor(settings: Settings, host: Host, log: Log, remedies?: KeyRemedies): UseClient {
  const target: Target = { description: describeTarget(settings), isShown: false };
  return async (task) => {
    const interruption = new AbortController();
    const restore = host.onSignal(["SIGINT", "SIGTERM"], () => interruption.abort());
    try {
      return await runTask(task, settings, target, host, log, interruption.signal, remedies);
    } finally {
      restore();
    }
  };
}

async function runTask<Result>(
  task: ClientTask<Result>,
  settings: Settings,
  target: Target,
  host: Host,
  log: Log,
  interrupted: AbortSignal,
  remedies: KeyRemedies | undefined,
): Promise<Result> {
  const { server, headers, timeout, maxResponseSize, keySource, loginCommand } = settings;
  const keyRemedies = keyRemediesFor(keySource, loginCommand);
  let connection: Connection | undefined;
  // An error here must not hide the result of the task: the server has already stored any changes.
  const close = async (): Promise<void> => {
    const closing = connection?.close();
    connection = undefined;
    await closing?.catch((error) => log.error("Closing the connection failed: {error}", { error }));
  };
  let createdStore: string | undefined;
  const onCreate = (path: string): void => {
    createdStore = path;
  };
  let isStoreLocked = false;
  const awaited = (): string => `${isStoreLocked ? "another process that uses " : ""}${describeTarget(settings)}`;
  const showWait = async <Result>(work: Promise<Result>): Promise<Result> => {
    isStoreLocked = false;
    return await showWaiting(awaited, host, work);
  };
  const onBusy = (): void => {
    isStoreLocked = true;
  };
  const connect = async (isAgain = false): Promise<Client> => {
    if (isAgain) await close();
    connection ??= server.kind === "network" ? await connectToNetwork(server, keyRemedies, host) : await showWait(
      openEmbedded(server, { timeout, signal: interrupted, onBusy, onCreate, keyRemedies }, host, log),
    );
    const fetch = log.isDebug ? (await import("#debug-log")).logRequests(connection.fetch, log) : connection.fetch;
    return createClient({
      ...connection,
      ...remedies,
      urlSetting: settings.urlSetting,
      fetch: async (request) => await showWait(fetch(request)),
      showWaiting: showWait,
      headers,
      timeout,
      maxResponseSize: server.kind === "network" ? maxResponseSize : Infinity,
      interrupted,
      debug: log.debug,
    });
  };
  try {
    return await task(connect, interrupted, {
      describePlace: () => describePlace(settings),
      describeServer: () => describeServer(settings),
      isStoreMissing: () => isStoreMissing(settings),
      store: server.kind === "embedded" ? server.location : undefined,
      target,
      keySource,
      timeout,
    });
  } finally {
    await close();
    if (createdStore !== undefined) await noteNewStore(createdStore, host);
  }
}

/** Says at a terminal that a store is new, because the user may have meant another one. Scripts expect no output. */
async function noteNewStore(path: string, host: Host): Promise<void> {
  if (!host.stderr.isTerminal() || host.args.includes("--json")) return;
  await writeNotes([`Created a new store in ${quote(path)}.`], host).catch(() => {});
}

interface Connection extends KeyRemedies, Pick<Endpoint, "url" | "label" | "fetch"> {
  close(): Promise<void>;
}

async function openEmbedded(
  { location }: EmbeddedServer,
  { timeout, signal, onBusy, onCreate, keyRemedies }: {
    readonly timeout: number;
    readonly signal: AbortSignal;
    readonly onBusy: () => void;
    /** @param path the new store */
    readonly onCreate: (path: string) => void;
    readonly keyRemedies: KeyRemedies;
  },
  host: Host,
  log: Log,
): Promise<Connection> {
  const { openLocalServer } = await import("#server");
  const server = await openLocalServer({
    location,
    busyTimeout: timeout,
    signal,
    onBusy,
    localUser: USER_VARIABLES.map((name) => host.env(name)).find((value) => value !== undefined),
    onCreate: () => location.kind === "directory" && onCreate(storePath(location.path)),
    validDocuments: DOCUMENTS,
    now: () => host.now(),
    logError: log.error,
    logDebug: log.debug,
  });
  const { knownKeyRemedy: place, newSecretRemedy } = keyRemedies;
  return {
    url: "http://localhost/graphql",
    label: "the embedded server",
    keyRemedy:
      `${place} No other server is selected, so the embedded server checked the key. Set the key's server with `
        .trimStart() + "--base-url or SERVICE_API_URL, or use no key.",
    knownKeyRemedy: `${place} The embedded server also accepts commands without a key.`.trimStart(),
    newSecretRemedy,
    ...server,
  };
}

/** The variables that can hold the name of the user; with sudo, of the user who called sudo. */
const USER_VARIABLES = ["SUDO_USER", "LOGNAME", "USER", "USERNAME"];

async function connectToNetwork(
  { endpoint, caCertificates }: NetworkServer,
  keyRemedies: KeyRemedies,
  host: Host,
): Promise<Connection> {
  const server = { url: endpoint.href, label: endpoint.host, ...keyRemedies };
  const client = await createHttpClient(endpoint, caCertificates, host);
  if (client === undefined) return { ...server, fetch, close: () => Promise.resolve() };
  return {
    ...server,
    fetch: (request) => fetch(request, { client }),
    close: () => Promise.resolve(client.close()),
  };
}

/** Creates an HTTP client; returns `undefined` if Deno's default client suffices. */
async function createHttpClient(
  endpoint: URL,
  caCertificates: string | undefined,
  host: Host,
): Promise<Deno.HttpClient | undefined> {
  if (endpoint.protocol === "https:") return await createTlsClient(caCertificates, host);
  const usesProxy = PROXY_VARIABLES.some((name) => host.env(name) !== undefined);
  return usesProxy && isLoopback(endpoint.hostname) ? createUnproxiedClient(endpoint) : undefined;
}

const PROXY_VARIABLES = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/** Bypasses the proxy of the environment: an unencrypted key must not leave this machine. */
function createUnproxiedClient({ hostname, port }: URL): Deno.HttpClient {
  const address = hostname.replace(/^\[(.*)\]$/, "$1");
  return Deno.createHttpClient({ proxy: { transport: "tcp", hostname: address, port: Number(port || 80) } });
}

async function createTlsClient(caCertificates: string | undefined, host: Host): Promise<Deno.HttpClient> {
  const { systemCertificates } = await import("../../client/system_certificates.ts");
  const caCerts = caCertificates === undefined
    ? await systemCertificates(host.env("SSL_CERT_FILE"), host.platform === "windows")
    : [caCertificates];
  try {
    return Deno.createHttpClient({ caCerts });
  } catch (error) {
    throw new Failure("TLS", "Cannot read the CA certificates. Check that they are valid PEM.", { cause: error });
  }
}
