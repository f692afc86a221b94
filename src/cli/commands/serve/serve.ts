/** `serve`: runs the embedded server on HTTP. */
import type { Command } from "@commander-js/extra-typings";
import * as z from "zod/mini";
import { Failure, quote } from "../../../apikey/failure.ts";
import type { HttpServerOptions } from "../../../server/http/http_server.ts";
import { openAccessLog } from "./access_log.ts";
import { isLoopback } from "../../settings/base_url.ts";
import type { CommandContext } from "../../command.ts";
import { durationUpToDays, durationUpToOneDay } from "../../settings/duration.ts";
import { EXIT_STATUS, ExitCode } from "../../exit_code.ts";
import type { Host } from "../../host/host.ts";
import { flushWithTimeout, type Log } from "../../host/log.ts";
import { countSchema, countUpTo, limitSchema, sizeSchema } from "../../settings/number.ts";
import { readConfig } from "../../config_file/read.ts";
import { parseFlags } from "../../settings/schema.ts";
import type { ProfileFlags } from "../../settings/server_flags.ts";
import { chooseStore, readStoreLocation, type StoreFlags } from "../../settings/store_location.ts";
import { helpOf, SETTINGS } from "../../settings/table.ts";
import { readTlsFiles } from "./tls_files.ts";
import { unlessInterrupted } from "../../host/interrupt.ts";

/** Declares the command. */
export function registerServe(command: Command, { host, log, setExitCode }: CommandContext): void {
  command
    .description("Serve GraphQL at http://HOST:PORT/graphql until SIGINT or SIGTERM.")
    .optionsGroup("Address:")
    .option("--host <host>", "address to listen on", "127.0.0.1")
    .option("--port <port>", "port to listen on; 0 selects a free port", "4000")
    .option("--tls-cert <pem>", "certificate with its intermediate certificates: serve HTTPS; restart after a renewal")
    .option("--tls-key <pem>", "private key of the certificate")
    .option("--allow-http", "listen beyond this machine without TLS; keys are sent unencrypted")
    .option(
      "--trust-proxy <list>",
      "addresses and networks, for example 10.0.0.0/8, of proxies whose X-Forwarded-For names the client; always set " +
        "it behind a proxy",
    )
    .optionsGroup("Store:")
    .option(SETTINGS.dataDir.option, helpOf("dataDir"))
    .option(SETTINGS.databaseUrl.option, helpOf("databaseUrl"))
    .option(SETTINGS.profile.option, helpOf("profile"))
    .option(SETTINGS.config.option, helpOf("config"))
    .option("--audit-retention <duration>", "delete older events of the audit trail; 0: never", "365d")
    .optionsGroup("Limits:")
    .option("--request-timeout <duration>", "for a request and its response", "30s")
    .option(
      "--idle-timeout <duration>",
      "for a connection between requests, and for a client to read a response",
      "75s",
    )
    .option("--drain-timeout <duration>", "for running requests after SIGTERM or SIGINT", "10s")
    .option("--max-body <size>", "of a request, for example 500KB or 1MB; a larger one gets 413", "1MB")
    .option("--max-depth <number>", "levels of fields in a document; 0: no limit", "20")
    .option("--max-aliases <number>", "aliases in a document; 0: no limit", "100")
    .option("--max-tokens <number>", "lexical tokens in a document; 0: no limit", "5000")
    .option("--max-keys <number>", "keys in one response; 0: no limit", "100000")
    .option(
      "--max-auth-failures <number>",
      "requests without a valid key per minute and address (IPv6: per /64), then 429; 0: no limit",
      "20",
    )
    .optionsGroup("Output:")
    .option("--no-access-log", "do not log each request")
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await serve(flags, host, log)));
}

const NOTES = `
Logs:
  Standard output has one line, with the URL, when the server is ready. Standard
  error has one line per request, and the errors: as JSON, or as text if it is a
  terminal. Keys appear by id, never with their secret. The X-Request-Id of a
  request is in its response, in the access log and in the audit trail.

Endpoints:
  /graphql   POST with application/json; GET for queries only
  /healthz   200 while the process runs; needs no key
  /readyz    200 while the store answers, otherwise 503; needs no key

Stopping:
  SIGTERM and SIGINT end the server with status 0 after running requests are
  answered, with 1 if --drain-timeout cut some off. A second signal ends it at
  once with 130.

PostgreSQL:
  --database-url takes postgres://[user[:password]@][host][:port][/database].
  What is missing comes from PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE.
  Parameters:
    host=/run/postgresql  directory of a Unix socket, instead of a host
    sslmode=MODE          verify-full and verify-ca: TLS with a verified
                          certificate; require: TLS without verification, or
                          with it if sslrootcert is given; disable. The default
                          is verify-full, or disable on this machine
    sslrootcert=FILE      CA certificates (PEM); the default is the system's

Examples:
  service-api serve --port 0
  service-api serve --host 0.0.0.0 --tls-cert chain.pem --tls-key key.pem
  service-api serve --database-url postgres://service_api@db.example:5432/keys
${EXIT_STATUS}`;

/** The flags of the command, as typed. */
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

/** Milliseconds that a request waits for another process's transaction, or for the database. */
const BUSY_TIMEOUT = 5000;

const SERVE_FLAGS = z.object({
  port: countUpTo(65_535),
  auditRetention: z.optional(durationUpToDays(3650)),
  requestTimeout: durationUpToOneDay(),
  idleTimeout: durationUpToOneDay(),
  drainTimeout: durationUpToOneDay(),
  maxBody: sizeSchema(),
  maxDepth: limitSchema(),
  maxAliases: limitSchema(),
  maxTokens: limitSchema(),
  maxKeys: limitSchema(),
  maxAuthFailures: countSchema(),
});

/**
 * Serves until SIGINT or SIGTERM. Then running requests may finish, until `--drain-timeout` or the next signal.
 *
 * @returns `OK` if all of them were answered
 * @throws {Failure} if the store or the address cannot be used; `INTERRUPTED` if a signal arrives before that is known
 */
export async function serve(flags: ServeFlags, host: Host, log: Log): Promise<ExitCode> {
  const { drainTimeout, ...options } = await readOptions(flags, host, log);
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
  const server = await unlessInterrupted(opening, "Interrupted before the server was ready.", host);
  const [first, second] = signals(host);
  await host.stdout.write(`Listening on ${server.url}\n`);
  await first;
  const unfinished = await Promise.race([server.stop(drainTimeout), second]);
  await flushWithTimeout(accessLog.flush());
  if (unfinished === "second signal") return ExitCode.INTERRUPTED;
  if (unfinished === 0) return ExitCode.OK;
  log.error("--drain-timeout cut off {unfinished} requests", { unfinished });
  return ExitCode.FAILED;
}

/**
 * Turns the flags into options.
 *
 * @throws {Failure} `USAGE`
 */
async function readOptions(
  flags: ServeFlags,
  host: Host,
  log: Log,
): Promise<Omit<HttpServerOptions, "logAccess"> & { readonly drainTimeout: number }> {
  const { maxDepth, maxAliases, maxTokens, maxKeys, ...parsed } = parseFlags(
    { ...flags, auditRetention: flags.auditRetention === "0" ? undefined : flags.auditRetention },
    SERVE_FLAGS,
  );
  const tls = await readTlsFiles(flags.tlsCert, flags.tlsKey);
  if (tls === undefined && !isLoopback(flags.host) && !flags.allowHttp) {
    throw new Failure(
      "USAGE",
      `Clients of ${quote(flags.host)} would send keys unencrypted. Use --tls-cert and --tls-key, or listen on ` +
        "127.0.0.1 behind a TLS proxy, or add --allow-http if the network is private.",
    );
  }
  return {
    ...parsed,
    hostname: flags.host,
    tls,
    trustedProxies: flags.trustProxy?.split(",").map((proxy) => proxy.trim()) ?? [],
    auditRetention: parsed.auditRetention,
    limits: { depth: maxDepth, aliases: maxAliases, tokens: maxTokens, keys: maxKeys },
    expectsTelemetry: ["true", "1"].includes(host.env("OTEL_DENO") ?? ""),
    now: () => host.now(),
    logError: log.error,
  };
}

/** The first signal to stop, and the second one. */
function signals(host: Host): readonly [Promise<void>, Promise<"second signal">] {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<"second signal">();
  let count = 0;
  host.onSignal(["SIGINT", "SIGTERM"], () => ++count === 1 ? first.resolve() : second.resolve("second signal"));
  return [first.promise, second.promise];
}
