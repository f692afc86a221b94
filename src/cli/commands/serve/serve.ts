/** `serve`: the embedded server on HTTP. */
import type { Command } from "@commander-js/extra-typings";
import { Failure, quote } from "../../../apikey/failure.ts";
import type { HttpServerOptions } from "../../../server/http/http_server.ts";
import { openAccessLog } from "./access_log.ts";
import { isLoopback } from "../../settings/base_url.ts";
import type { Session } from "../../command.ts";
import { parseDuration } from "../../settings/duration.ts";
import { EXIT_STATUS, ExitCode } from "../../exit_code.ts";
import type { Host } from "../../host/host.ts";
import { flushWithTimeout, type Log } from "../../host/log.ts";
import { parseCount, parseLimit, parseSize } from "../../settings/number.ts";
import { readConfig } from "../../config_file/read.ts";
import type { ProfileFlags } from "../../settings/server_flags.ts";
import { chooseStore, readStoreLocation, type StoreFlags } from "../../settings/store_location.ts";
import { helpOf, SETTINGS } from "../../settings/table.ts";
import { readTlsFiles } from "./tls_files.ts";
import { unlessInterrupted } from "../../host/interrupt.ts";

/** Declares the command. */
export function registerServe(command: Command, { host, log, setExitCode }: Session): void {
  command
    .description("Serve GraphQL at http://HOST:PORT/graphql until SIGINT or SIGTERM.")
    .optionsGroup("Address:")
    .option("--host <host>", "address to listen on", "127.0.0.1")
    .option("--port <port>", "port to listen on; 0: any free one", "4000")
    .option("--tls-cert <pem>", "certificate, with its chain: speak HTTPS")
    .option("--tls-key <pem>", "private key of the certificate")
    .option("--allow-http", "listen beyond this machine without TLS")
    .option("--trust-proxy <list>", "addresses and networks of proxies whose\nX-Forwarded-For names the client")
    .optionsGroup("Store:")
    .option(SETTINGS.dataDir.option, helpOf("dataDir"))
    .option(SETTINGS.databaseUrl.option, helpOf("databaseUrl"))
    .option(SETTINGS.profile.option, helpOf("profile"))
    .option(SETTINGS.config.option, helpOf("config"))
    .option("--audit-retention <duration>", "drop older events of the audit trail; 0: never", "365d")
    .optionsGroup("Limits:")
    .option("--request-timeout <duration>", "for a request and its answer", "30s")
    .option("--idle-timeout <duration>", "for a connection between requests", "75s")
    .option("--drain-timeout <duration>", "for requests in flight, when told to stop", "10s")
    .option("--max-body <size>", "of a request, such as 500KB or 1MB", "1MB")
    .option("--max-depth <number>", "levels of fields in a document; 0: any number", "20")
    .option("--max-aliases <number>", "aliases in a document; 0: any number", "100")
    .option("--max-tokens <number>", "lexical tokens in a document; 0: any number", "5000")
    .option("--max-keys <number>", "keys in an answer; 0: any number", "100000")
    .option(
      "--max-auth-failures <number>",
      "requests without a valid key, per address and\nminute, then 429; 0: any number",
      "20",
    )
    .optionsGroup("Output:")
    .option("--no-access-log", "no line on standard error for each request")
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await serve(flags, host, log)));
}

const NOTES = `
Besides /graphql there are /healthz and /readyz, which need no key.

Examples:
  service-api serve --port 0
  service-api serve --host 0.0.0.0 --tls-cert chain.pem --tls-key key.pem
${EXIT_STATUS}`;

/** The flags of the command, as they were typed. */
export interface ServeFlags extends StoreFlags, ProfileFlags {
  readonly host: string;
  readonly port: string;
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly allowHttp?: boolean | undefined;
  readonly trustProxy?: string | undefined;
  readonly auditRetention: string;
  readonly requestTimeout: string;
  readonly idleTimeout: string;
  readonly drainTimeout: string;
  readonly maxBody: string;
  readonly maxDepth: string;
  readonly maxAliases: string;
  readonly maxTokens: string;
  readonly maxKeys: string;
  readonly maxAuthFailures: string;
  readonly accessLog: boolean;
}

/** How long a request waits for another process's transaction, or for the database, in milliseconds. */
const BUSY_TIMEOUT = 5000;

/** Ten years, in milliseconds. */
const LONGEST_RETENTION = 3650 * 24 * 3_600_000;

/**
 * Serves until SIGINT or SIGTERM, then lets requests in flight setExitCode: for `--drain-timeout`, or until the next signal.
 *
 * @returns `OK` when all of them were answered
 * @throws {Failure} when the store or the address cannot be used; `INTERRUPTED` when a signal comes before they are
 */
export async function serve(flags: ServeFlags, host: Host, log: Log): Promise<ExitCode> {
  const drainTimeout = parseDuration(flags.drainTimeout, "--drain-timeout");
  const options = await decideServe(flags, host, log);
  const { profile } = await readConfig(flags, host);
  const location = await readStoreLocation(chooseStore(flags, host, profile), host, log);
  const accessLog = openAccessLog(host);
  const { openHttpServer } = await import("#server");
  const opening = openHttpServer({
    ...options,
    location,
    busyTimeout: BUSY_TIMEOUT,
    logAccess: flags.accessLog ? accessLog.record : undefined,
  });
  const server = await unlessInterrupted(opening, "Interrupted before it listened.", host);
  const [first, second] = signals(host);
  await host.stdout.write(`Listening on ${server.url}\n`);
  await first;
  const unfinished = await Promise.race([server.stop(drainTimeout), second]);
  await flushWithTimeout(accessLog.flush());
  if (unfinished === "impatient") return ExitCode.INTERRUPTED;
  if (unfinished === 0) return ExitCode.OK;
  log.error("{unfinished} requests were cut off after --drain-timeout", { unfinished });
  return ExitCode.FAILED;
}

/**
 * Turns the flags into options.
 *
 * @throws {Failure} `USAGE`
 */
async function decideServe(
  flags: ServeFlags,
  host: Host,
  log: Log,
): Promise<Omit<HttpServerOptions, "logAccess">> {
  const port = parseCount(flags.port, "--port", 65_535);
  const tls = await readTlsFiles(flags.tlsCert, flags.tlsKey);
  if (tls === undefined && !isLoopback(flags.host) && !flags.allowHttp) {
    throw new Failure(
      "USAGE",
      `Keys would cross the network in clear to and from ${quote(flags.host)}: give --tls-cert and --tls-key, put a ` +
        "TLS proxy before a loopback address, or give --allow-http if that is all right.",
    );
  }
  const retention = flags.auditRetention;
  return {
    hostname: flags.host,
    port,
    tls,
    trustedProxies: flags.trustProxy?.split(",").map((proxy) => proxy.trim()) ?? [],
    auditRetention: retention === "0" ? undefined : parseDuration(retention, "--audit-retention", LONGEST_RETENTION),
    requestTimeout: parseDuration(flags.requestTimeout, "--request-timeout"),
    idleTimeout: parseDuration(flags.idleTimeout, "--idle-timeout"),
    maxBody: parseSize(flags.maxBody, "--max-body"),
    limits: {
      depth: parseLimit(flags.maxDepth, "--max-depth"),
      aliases: parseLimit(flags.maxAliases, "--max-aliases"),
      tokens: parseLimit(flags.maxTokens, "--max-tokens"),
      keys: parseLimit(flags.maxKeys, "--max-keys"),
    },
    maxAuthFailures: parseCount(flags.maxAuthFailures, "--max-auth-failures"),
    expectsTelemetry: ["true", "1"].includes(host.env("OTEL_DENO") ?? ""),
    now: () => host.now(),
    logError: log.error,
  };
}

/** The first signal to stop, and the second, from a user who will not wait. */
function signals(host: Host): readonly [Promise<void>, Promise<"impatient">] {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<"impatient">();
  let count = 0;
  host.onSignal(["SIGINT", "SIGTERM"], () => ++count === 1 ? first.resolve() : second.resolve("impatient"));
  return [first.promise, second.promise];
}
