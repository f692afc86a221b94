/** `serve`: the embedded server on HTTP. */
import { Failure, quote } from "../apikey/failure.ts";
import { isLoopback } from "./base_url.ts";
import type { CommandDefinition } from "./command.ts";
import { readDataDir } from "./data_dir.ts";
import { EXIT_STATUS, ExitCode } from "./exit_code.ts";
import type { Host } from "./host.ts";
import type { Log } from "./log.ts";
import { DATA_DIR_HELP } from "./server_flags.ts";

export const serveCommand: CommandDefinition = {
  name: "serve",
  summary: "put the embedded server on HTTP",
  define: (command, { host, log, finish }) => {
    command
      .description("Serve GraphQL at http://HOST:PORT/graphql until SIGINT or SIGTERM.")
      .option("--host <host>", "address to listen on", "127.0.0.1")
      .option("--port <port>", "port to listen on; 0: any free one", "4000")
      .option("--allow-http", "listen beyond this machine without TLS")
      .option("--data-dir <dir>", DATA_DIR_HELP)
      .addHelpText("after", EXIT_STATUS)
      .action(async (flags) => finish(await serve(flags, host, log)));
  },
};

/** The flags of the command, as they were typed. */
export interface ServeFlags {
  readonly host: string;
  readonly port: string;
  readonly dataDir?: string | undefined;
  readonly allowHttp?: boolean | undefined;
}

/** How long a request waits for another process's transaction, in milliseconds. */
const BUSY_TIMEOUT = 5000;

/** How long requests in flight may take to finish after a signal to stop, in milliseconds. */
const DRAIN_TIMEOUT = 10_000;

/**
 * Serves until SIGINT or SIGTERM, then lets requests in flight finish: for 10 seconds, or until the next signal.
 *
 * @throws {Failure} when the store or the address cannot be used
 */
export async function serve(flags: ServeFlags, host: Host, log: Log): Promise<ExitCode> {
  const port = parsePort(flags.port);
  if (!isLoopback(flags.host) && !flags.allowHttp) {
    throw new Failure(
      "USAGE",
      `Keys would cross the network in clear to and from ${quote(flags.host)}: put a TLS proxy before a loopback ` +
        "address, or give --allow-http if that is all right.",
    );
  }
  const { openHttpServer } = await import("#server");
  const server = await openHttpServer({
    dataDir: readDataDir(flags.dataDir, host),
    busyTimeout: BUSY_TIMEOUT,
    hostname: flags.host,
    port,
    now: () => host.now(),
    logError: log.error,
    logAccess: log.info,
  });
  const [first, second] = signals(host);
  await host.stdout.write(`Listening on ${server.url}\n`);
  await first;
  const patience = new Promise((resolve) => setTimeout(resolve, DRAIN_TIMEOUT));
  await Promise.race([server.stop(), second, patience]);
  return ExitCode.OK;
}

/** The first signal to stop, and the second, from a user who will not wait. */
function signals(host: Host): readonly [Promise<void>, Promise<void>] {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  let count = 0;
  host.onSignal(["SIGINT", "SIGTERM"], () => ++count === 1 ? first.resolve() : second.resolve());
  return [first.promise, second.promise];
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (port <= 65_535) return port;
  throw new Failure("USAGE", `--port takes a number from 0 to 65535, and not ${quote(text)}.`);
}
