/**
 * The embedded server as a whole: a store and what answers for it. The one module of the server that the program
 * loads, and only when it needs it; in the executable it is a bundle of its own.
 */
import { openSqliteStore } from "../store/sqlite.ts";
import { LOCAL_CALLER } from "./caller.ts";
import { createGraphqlHandler, type Handler, type LogSink } from "./handler.ts";
import { type HttpServer, listen, type ListenOptions } from "./listen.ts";

export interface ServerOptions {
  /** Where the store is, or is to be made. */
  readonly dataDir: string;
  /** How long to wait for another process's transaction, in milliseconds. */
  readonly busyTimeout: number;
  /** Ends that waiting at once. */
  readonly signal?: AbortSignal;
  readonly now: () => Date;
  /** Told of errors that callers are not told of. */
  readonly logError: LogSink;
}

export interface LocalServer {
  /** Answers whoever calls it as the local caller, unless a key is shown. */
  readonly fetch: Handler;
  close(): Promise<void>;
}

/**
 * The server inside this process, for whoever may read and write the data directory.
 *
 * @throws {Failure} when the store cannot be used
 */
export async function openLocalServer(options: ServerOptions): Promise<LocalServer> {
  const { dataDir, busyTimeout, signal, now, logError } = options;
  const store = await openSqliteStore({ directory: dataDir, busyTimeout, signal });
  return {
    fetch: createGraphqlHandler({ store, anonymous: LOCAL_CALLER, now, logError }),
    close: () => store.close(),
  };
}

export interface HttpServerOptions extends ServerOptions, Omit<ListenOptions, "handler"> {}

/**
 * The server on HTTP, for whoever has a key.
 *
 * @returns the server; stopping it closes the store too
 * @throws {Failure} when the store or the address cannot be used
 */
export async function openHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { dataDir, busyTimeout, now, logError, hostname, port, logAccess } = options;
  const store = await openSqliteStore({ directory: dataDir, busyTimeout });
  try {
    const handler = createGraphqlHandler({ store, now, logError });
    const server = listen({ hostname, port, handler, logAccess });
    return { ...server, stop: () => server.stop().finally(() => store.close()) };
  } catch (error) {
    await store.close();
    throw error;
  }
}
