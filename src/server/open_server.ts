/**
 * The embedded server as a whole: a store and what answers for it. The one module of the server that the program
 * loads, and only when it needs it; in the executable it is a bundle of its own.
 */
import { hashSecret } from "../apikey/secret.ts";
import type { KeyStore } from "../store/key_store.ts";
import type { DatabaseAddress } from "../store/postgres_database.ts";
import { openSqliteStore } from "../store/sqlite.ts";
import { LOCAL_CALLER } from "./auth/caller.ts";
import type { Handler, LogSink } from "./graphql/messages.ts";
import { createGraphqlHandler } from "./graphql/handler.ts";
import type { HttpServerOptions } from "./http/routes.ts";
import type { HttpServer } from "./http/listener.ts";
import { DEFAULT_LIMITS } from "./graphql/limits.ts";

/** Where the keys are: in a directory of this machine, where they are to be made if need be, or in PostgreSQL. */
export type StoreLocation =
  | { readonly kind: "directory"; readonly path: string }
  | { readonly kind: "database"; readonly address: DatabaseAddress };

export interface StoreOptions {
  readonly location: StoreLocation;
  /** How long to wait for another process's transaction, in milliseconds. */
  readonly busyTimeout: number;
  /** Ends that waiting at once. */
  readonly signal?: AbortSignal;
}

export interface LocalServerOptions extends StoreOptions {
  /** Documents that are not validated: that alone would be a noticeable part of the time of a command. */
  readonly validDocuments: readonly string[];
  readonly now: () => Date;
  /** Told of errors that callers are not told of. */
  readonly logError: LogSink;
}

export interface LocalServer {
  /** Answers whoever calls it as the local caller, unless a key is shown. */
  readonly fetch: (request: Request) => Promise<Response>;
  close(): Promise<void>;
}

/**
 * The server inside this process, for whoever may use the store.
 *
 * @throws {Failure} when the store cannot be used
 */
export async function openLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const { validDocuments, now, logError } = options;
  const store = await openStore(options);
  const { answer, lastUse } = createGraphqlHandler({
    store,
    hashSecret: async (secret) => (await hashSecret(secret)).toHex(),
    maxAuthFailures: 0,
    anonymous: LOCAL_CALLER,
    limits: { ...DEFAULT_LIMITS, keys: Infinity },
    validDocuments,
    now,
    logError,
  });
  return {
    fetch: asFetch(answer),
    close: () => lastUse.write().finally(() => store.close()),
  };
}

/** A handler as whoever has no network in between calls it. */
export function asFetch(handler: Handler): LocalServer["fetch"] {
  return async (request) => {
    const { method, url, headers, signal } = request;
    const { status, body, headers: answered } = await handler({
      method,
      url,
      header: (name) => headers.get(name),
      body: () => request.text(),
      address: null,
      requestId: null,
      isWanted: () => !signal.aborted,
    });
    return new Response(method === "HEAD" ? null : body, { status, headers: answered });
  };
}

/**
 * The server on HTTP, for whoever has a key.
 *
 * @returns the server; stopping it closes the store too
 * @throws {Failure} when the store or the address cannot be used
 */
export async function openHttpServer(options: StoreOptions & HttpServerOptions): Promise<HttpServer> {
  const [{ serveHttp }, { setImmediate: nextTurn }] = await Promise.all([
    import("./http/routes.ts"),
    import("node:timers/promises"),
  ]);
  const store = await openStore(options, nextTurn);
  try {
    return await serveHttp(store, options);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** @param beforeCommit as in `SqliteOptions` */
async function openStore(
  { location, busyTimeout, signal }: StoreOptions,
  beforeCommit?: () => Promise<void>,
): Promise<KeyStore> {
  if (location.kind === "directory") {
    return await openSqliteStore({ directory: location.path, busyTimeout, signal, beforeCommit });
  }
  const { openPostgresStore } = await import("../store/postgres.ts");
  return await openPostgresStore({ address: location.address, timeout: busyTimeout, signal });
}
