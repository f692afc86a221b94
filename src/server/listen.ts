/** The embedded server on HTTP. */
import { Failure, reasonOf } from "../apikey/failure.ts";
import type { Handler, LogSink } from "./handler.ts";

export interface ListenOptions {
  /** An IP address or a host name. */
  readonly hostname: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly handler: Handler;
  /** Told of every request. */
  readonly logAccess: LogSink;
}

export interface HttpServer {
  /** Where GraphQL is answered, with the port that was chosen. */
  readonly url: string;
  /** Lets requests in flight finish and takes no new ones. */
  stop(): Promise<void>;
}

/**
 * Starts to listen.
 *
 * @throws {Failure} `USAGE` when the address cannot be listened on
 */
export function listen(options: ListenOptions): HttpServer {
  const { hostname, port } = options;
  try {
    const server = Deno.serve(
      { hostname, port, onListen: () => {} },
      (request) => answer(request, options),
    );
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    return {
      url: `http://${host}:${server.addr.port}/graphql`,
      stop: () => server.shutdown(),
    };
  } catch (error) {
    throw new Failure(
      "USAGE",
      `Cannot listen on ${hostname} port ${port}: ${reasonOf(error)}. Choose another --host or --port.`,
      { cause: error },
    );
  }
}

async function answer(request: Request, { handler, logAccess }: ListenOptions): Promise<Response> {
  const { pathname } = new URL(request.url);
  const response = pathname === "/graphql"
    ? await handler(request)
    : new Response("GraphQL is at /graphql.\n", { status: 404 });
  logAccess("{method} {pathname} {status}", { method: request.method, pathname, status: response.status });
  return response;
}
