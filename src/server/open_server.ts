/**
 * The entry point of the server. Apart from types, the rest of the program imports only this module from `src/server/`,
 * and loads it on demand. In the executable, it is a separate bundle.
 *
 * A request passes through `http/listener` → `http/request_handler` → `http/routes` → `graphql/handler` →
 * `auth/authenticator` → `graphql/schema` → `auth/authorization` → `keys/` → the store. If a command runs the server
 * inside its own process (embedded mode), a request starts at `graphql/handler`.
 */
import { hashSecret } from "../apikey/secret.ts";
import type { KeyStore } from "../store/key_store.ts";
import { openSqliteStore, openSqliteStoreOnDemand } from "../store/sqlite.ts";
import type { StoreLocation } from "../store/store_location.ts";
import { createGraphqlHandler } from "./graphql/handler.ts";
import type { Handler } from "./graphql/http_message.ts";
import { DEFAULT_LIMITS } from "./graphql/limits.ts";
import type { HttpServerOptions, MeasuredServer } from "./http/http_server.ts";
import type { LogError } from "./telemetry/log_error.ts";

export type { StoreLocation };

export interface StoreOptions {
  readonly location: StoreLocation;
  /** How long to wait for another process's transaction, in milliseconds. */
  readonly busyTimeout: number;
  /** If this is aborted, the server stops waiting. */
  readonly signal?: AbortSignal;
  /** Called each time another process has locked a local store. */
  readonly onBusy?: (() => void) | undefined;
  /** Called when the first change has created a local store. */
  readonly onCreate?: (() => void) | undefined;
  /** Logs steps of the store that users see only with `LOG_LEVEL=debug`. */
  readonly logDebug?: LogError;
  /** Decides which keys of a local store have expired. A PostgreSQL database uses its own clock. */
  readonly now: () => Date;
}

export interface LocalServerOptions extends StoreOptions {
  /** The name of the user who runs the command, for the audit trail. */
  readonly localUser: string | undefined;
  /** Documents that are known to be valid. To save time, the server does not validate them. */
  readonly validDocuments: readonly string[];
  readonly logError: LogError;
}

export interface LocalServer {
  /** Answers a request. A request without a key has every right. */
  readonly fetch: (request: Request) => Promise<Response>;
  close(): Promise<void>;
}

/**
 * Opens the server inside this process, for users who can access the store. Creates or migrates the store only before
 * the first change. Until then, a missing store is empty.
 *
 * @throws {Failure} if the store cannot be used
 */
export async function openLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const { localUser, validDocuments, now, logError } = options;
  const store = await openStore(options, { onDemand: true });
  const { handle, writePending } = createGraphqlHandler({
    store,
    hashSecret: async (secret) => (await hashSecret(secret)).toHex(),
    maxAuthFailures: 0,
    acceptsLocalCaller: true,
    localUser,
    limits: { ...DEFAULT_LIMITS, keys: Infinity, responseSize: Infinity },
    validDocuments,
    now,
    logError,
  });
  return {
    fetch: toFetch(handle),
    close: () => writePending().finally(() => store.close()),
  };
}

/** Returns a `fetch` function that calls a handler without a network. */
export function toFetch(handler: Handler): LocalServer["fetch"] {
  return async (request) => {
    const { method, url, headers, signal } = request;
    const response = await handler({
      method,
      url,
      header: (name) => headers.get(name),
      isComplete: () => true,
      body: () => request.text(),
      address: null,
      requestId: null,
      signal,
    });
    return new Response(method === "HEAD" ? null : response.body, response);
  };
}

/**
 * Serves the store over HTTP, for clients with a key. Creates the store if it is missing, and migrates its schema.
 *
 * @returns the server; stopping it closes the store
 * @throws {Failure} if the store or the address cannot be used
 */
export async function openHttpServer(options: StoreOptions & HttpServerOptions): Promise<MeasuredServer> {
  const [{ serveHttp }, { nextTurn }] = await Promise.all([
    import("./http/http_server.ts"),
    import("../store/lookups/next_turn.ts"),
  ]);
  const store = await openStore(options, { onDemand: false, nextTurn });
  try {
    return await serveHttp(store, options);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Opens the store.
 *
 * @param onDemand whether to create or migrate the store only before the first change
 * @param nextTurn see `SqliteOptions`; not used with PostgreSQL
 */
async function openStore(
  { location, busyTimeout, signal, onBusy, onCreate, logDebug, now }: StoreOptions,
  { onDemand, nextTurn }: { readonly onDemand: boolean; readonly nextTurn?: () => Promise<void> },
): Promise<KeyStore> {
  if (location.kind === "directory") {
    const options = { directory: location.path, busyTimeout, signal, onBusy, onCreate, nextTurn, now };
    return await (onDemand ? openSqliteStoreOnDemand(options) : openSqliteStore(options));
  }
  const { openPostgresStore, openPostgresStoreOnDemand } = await import("../store/postgres.ts");
  const onRetry = (reason: string): void =>
    logDebug?.("The database rolled back a transaction: {reason}. Trying again.", { reason });
  const options = { address: location.address, timeout: busyTimeout, signal, onRetry };
  return await (onDemand ? openPostgresStoreOnDemand(options) : openPostgresStore(options));
}
