/** The embedded server on HTTP. */
import { getLogger } from "@logtape/logtape";
import { Failure } from "../apikey/failure.ts";
import type { Handler } from "./handler.ts";

export interface ListenOptions {
  /** An IP address or a host name. */
  readonly hostname: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly handler: Handler;
}

export interface HttpServer {
  /** Where GraphQL is answered, with the port that was chosen. */
  readonly url: string;
  /** Lets requests in flight finish and takes no new ones. */
  stop(): Promise<void>;
}

const logger = getLogger(["service-api", "server"]);

/**
 * Starts to listen.
 *
 * @throws {Failure} `USAGE` when the address cannot be listened on
 */
export function listen({ hostname, port, handler }: ListenOptions): HttpServer {
  try {
    const server = Deno.serve({ hostname, port, onListen: () => {} }, (request) => answer(request, handler));
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    return { url: `http://${host}:${server.addr.port}/graphql`, stop: () => server.shutdown() };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure(
      "USAGE",
      `Cannot listen on ${hostname} port ${port}: ${reason}. Choose another --host or --port.`,
    );
  }
}

async function answer(request: Request, handler: Handler): Promise<Response> {
  const { pathname } = new URL(request.url);
  const response = pathname === "/graphql"
    ? await handler(request)
    : Response.json({ errors: [{ message: "GraphQL is at /graphql." }] }, { status: 404 });
  logger.info("{method} {pathname} {status}", { method: request.method, pathname, status: response.status });
  return response;
}
