/** `serve`: runs the embedded server on HTTP. */
import type { Command, CommandUnknownOpts } from "@commander-js/extra-typings";
import * as z from "zod/mini";
import { Failure, quote, reasonOf } from "../../../apikey/failure.ts";
import type { HttpServerOptions } from "../../../server/http/http_server.ts";
import type { HttpServer } from "../../../server/http/listener.ts";
import { openAccessLog } from "./access_log.ts";
import { isLoopback } from "../../settings/base_url.ts";
import type { CommandContext } from "../../command.ts";
import { durationUpToDays, durationUpToOneDay } from "../../settings/duration.ts";
import { EXIT_STATUS, ExitCode } from "../../exit_code.ts";
import type { Host } from "../../host/host.ts";
import { flushWithTimeout, type Log } from "../../host/log.ts";
import { wrapFor } from "../../host/notes.ts";
import { countSchema, countUpTo, limitSchema, sizeSchema } from "../../settings/number.ts";
import { readConfig } from "../../config_file/read.ts";
import { parseFlags } from "../../settings/schema.ts";
import { collect, type ProfileFlags } from "../../settings/server_flags.ts";
import { chooseStore, readStoreLocation, type StoreFlags } from "../../settings/store_location.ts";
import { helpOf, SETTINGS } from "../../settings/table.ts";
import { reportStart, sourceOf, storeOf } from "./start_report.ts";
import { readTlsFiles } from "./tls_files.ts";
import { showWaiting } from "../../host/show_waiting.ts";
import { unlessInterrupted } from "../../host/interrupt.ts";

/** Registers the command. */
export function registerServe(command: Command, { host, log, setExitCode }: CommandContext): void {
  command
    .description(
      "Run the embedded server, which is part of this program. It serves GraphQL at\n" +
        "http://HOST:PORT/graphql until SIGINT or SIGTERM. With --tls-cert, the URL\nstarts with https://.",
    )
    .optionsGroup("Address:")
    .option("--host <host>", "address to listen on", "127.0.0.1")
    .option("--port <port>", "port to listen on; 0 selects a free port", "4000")
    .option("--tls-cert <pem>", "PEM file with the certificate chain; enables HTTPS; send SIGHUP after a renewal")
    .option("--tls-key <pem>", "PEM file with the private key of the certificate")
    .option("--allow-http", "allow other machines to connect without TLS; clients then send keys unencrypted")
    .option(
      "--trust-proxy <list>",
      "comma-separated addresses or networks of your proxies, for example 10.0.0.0/8; required behind a proxy, to " +
        "read the client's address from X-Forwarded-For; repeatable",
      collect,
    )
    .option("--metrics-port <port>", "serve metrics for Prometheus at /metrics on this port; 0 selects a free port")
    .option("--metrics-host <host>", "address to listen on for --metrics-port; without it, 127.0.0.1")
    .optionsGroup("Store:")
    .option(SETTINGS.dataDir.option, helpOf("dataDir"))
    .option(SETTINGS.databaseUrl.option, helpOf("databaseUrl"))
    .option(SETTINGS.profile.option, helpOf("profile"))
    .option(SETTINGS.config.option, helpOf("config"))
    .option("--audit-retention <duration>", "how long to keep audit events; 0: no limit", "365d")
    .option(
      "--max-key-lifetime <duration>",
      "longest time until a key expires, for keys that clients create, update or rotate; without it, keys can live " +
        "forever",
    )
    .option(
      "--default-key-lifetime <duration>",
      "time until a new key expires if the client does not give an expiry; without it, --max-key-lifetime",
    )
    .optionsGroup("Limits:")
    .option("--request-timeout <duration>", "longest time from the headers of a request to its response", "30s")
    .option(
      "--idle-timeout <duration>",
      "longest wait for the next request on a connection; also the longest that a client may take to read a response",
      "75s",
    )
    .option("--drain-timeout <duration>", "longest wait for running requests after SIGTERM or SIGINT", "10s")
    .option(
      "--max-connections <number>",
      "maximum number of open connections; further ones are closed; 0: no limit",
      "1000",
    )
    .option(
      "--max-per-address <number>",
      "maximum number of open connections from one address (IPv6: one /64 network); proxies have no such limit; 0: no limit",
      "256",
    )
    .option("--max-body <size>", "largest request body, for example 500KB or 1MB; larger ones get 413", "1MB")
    .option("--max-depth <number>", "deepest nesting of fields in a document; 0: no limit", "20")
    .option("--max-aliases <number>", "maximum number of aliases in a document; 0: no limit", "100")
    .option("--max-tokens <number>", "maximum number of tokens in a document; 0: no limit", "5000")
    .option("--max-keys <number>", "maximum number of keys in one response; 0: no limit", "100000")
    .option(
      "--max-auth-failures <number>",
      "failed authentications per minute from one address (IPv6: one /64 network); further ones get 429; 0: no limit",
      "20",
    )
    .optionsGroup("Output:")
    .option("--no-access-log", "do not log requests")
    .addHelpText("after", NOTES)
    .action(async (flags, command) => {
      logFlags(command, log);
      setExitCode(await serve(flags, host, log));
    });
}

function logFlags(command: CommandUnknownOpts, log: Log): void {
  for (const option of command.options) {
    const key = option.attributeName();
    const value = command.getOptionValue(key);
    // The URL may contain a password. The log shows the database as the target.
    if (value === undefined || key === "databaseUrl") continue;
    const from = command.getOptionValueSource(key) === "default" ? "default" : option.long;
    log.debug("Setting {name}: {value} ({from})", { name: option.name(), value: String(value), from });
  }
}

const NOTES = `
Logs:
  The server prints one line with its URL on standard output when it is ready.
  Everything else goes to standard error: as text at a terminal, otherwise as
  lines of JSON. First its version, its store, how many keys the store has, and
  if there are none, the command that creates the first key. Then errors, and
  one line per valid HTTP request. The lines contain the ids of keys, and never
  secrets. A narrow terminal shows no request ids and addresses. If a request
  carries the old secret of a rotated key, its line has the words old secret, or
  in JSON "secret":"previous".
  Each valid HTTP request has one X-Request-Id. It is in the response, in the
  access log, and in the audit events of the request.

Endpoints:
  /graphql   POST with application/json; GET for queries only
  /healthz   200 until the server begins to stop; needs no key
  /readyz    200 if /healthz is 200 and the store answers, otherwise 503; needs
             no key

Metrics:
  With --metrics-port, GET http://127.0.0.1:PORT/metrics returns metrics in the
  text format of Prometheus. The page needs no key. It contains no secrets, and
  no names, ids or addresses. The line on standard output has its URL too.

Stopping:
  After SIGTERM or SIGINT, the server finishes the running requests and exits
  with 0. If --drain-timeout expires first, it exits with 1. After a second
  signal, it exits at once with 130.

Renewing the certificate:
  After SIGHUP, the server reads the files of --tls-cert and --tls-key again
  and uses them for new connections. If it cannot use them, it logs the reason
  and keeps the old certificate. SIGHUP never stops the server.

PostgreSQL:
  --database-url takes postgres://[user[:password]@][host][:port][/database].
  PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE replace missing parts.
  Parameters:
    host=/run/postgresql  directory of a Unix socket, instead of a host
    sslmode=verify-full   TLS; verify the certificate (default if sslrootcert is
                          set or the database is on another machine)
    sslmode=verify-ca     the same as verify-full
    sslmode=require       TLS; verify the certificate only with sslrootcert
    sslmode=disable       no TLS (default if sslrootcert is not set and the
                          database is on this machine)
    sslrootcert=FILE      PEM file with CA certificates; the system's by default

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
  readonly trustProxy?: readonly string[] | undefined;
  readonly metricsPort?: string | undefined;
  readonly metricsHost?: string | undefined;
  readonly auditRetention: string;
  readonly maxKeyLifetime?: string | undefined;
  readonly defaultKeyLifetime?: string | undefined;
  readonly requestTimeout: string;
  readonly idleTimeout: string;
  readonly drainTimeout: string;
  readonly maxConnections: string;
  readonly maxPerAddress: string;
  readonly maxBody: string;
  readonly maxDepth: string;
  readonly maxAliases: string;
  readonly maxTokens: string;
  readonly maxKeys: string;
  readonly maxAuthFailures: string;
  readonly accessLog: boolean;
}

/** How many milliseconds the store may wait for a locked SQLite file, or for an answer from PostgreSQL. */
const STORE_TIMEOUT = 5000;

const SERVE_FLAGS = z.object({
  port: countUpTo(65_535),
  metricsPort: z.optional(countUpTo(65_535)),
  auditRetention: z.optional(durationUpToDays(3650)),
  maxKeyLifetime: z.optional(durationUpToDays(36_500)),
  defaultKeyLifetime: z.optional(durationUpToDays(36_500)),
  requestTimeout: durationUpToOneDay(),
  idleTimeout: durationUpToOneDay(),
  drainTimeout: durationUpToOneDay(),
  maxConnections: limitSchema(),
  maxPerAddress: limitSchema(),
  maxBody: sizeSchema(),
  maxDepth: limitSchema(),
  maxAliases: limitSchema(),
  maxTokens: limitSchema(),
  maxKeys: limitSchema(),
  maxAuthFailures: countSchema(),
});

/**
 * Serves until SIGINT or SIGTERM. Then waits until the running requests finish, `--drain-timeout` expires or a second
 * signal arrives.
 *
 * @returns `OK` if all running requests finished, `FAILED` if `--drain-timeout` expired first, `INTERRUPTED` after a
 *   second signal
 * @throws {Failure} `USAGE` if a setting is invalid or the server cannot listen on the address; other codes if the
 *   store cannot be used; `INTERRUPTED` if a signal arrives before the server is ready
 */
export async function serve(flags: ServeFlags, host: Host, log: Log): Promise<ExitCode> {
  // Without a handler, SIGHUP would end the process.
  let reload = (): void => {};
  host.onSignal(["SIGHUP"], () => reload());
  const { drainTimeout, ...options } = await readOptions(flags, host, log);
  const { profile } = await readConfig(flags, host);
  const store = chooseStore(flags, host, profile);
  const location = await readStoreLocation(store, host, log);
  log.debug("Target: {store} ({source})", { store: storeOf(location), source: sourceOf(store, profile) });
  const accessLog = await openAccessLog(host);
  const { openHttpServer } = await import("#server");
  const opening = openHttpServer({
    ...options,
    location,
    busyTimeout: STORE_TIMEOUT,
    logDebug: log.debug,
    logAccess: flags.accessLog ? accessLog.record : undefined,
  });
  const ready = unlessInterrupted(opening, "Interrupted before the server was ready.", host);
  const server = await showWaiting(() => `the store ${storeOf(location)}`, host, ready);
  reload = () => void reloadCertificate(flags, server, log);
  const [first, second] = waitForStopSignals(host);
  const metrics = server.metricsUrl === undefined ? "" : ` and ${server.metricsUrl}`;
  await host.stdout.write(`Listening on ${server.url}${metrics}\n`);
  const { VERSION: version } = await import("#version");
  const started = { ...server, version, hostname: flags.host, isTls: options.tls !== undefined, location, store };
  let isStopping = false;
  const reporting = reportStart({ ...started, profile, flags }, host, () => isStopping);
  await first;
  isStopping = true;
  const notice = setTimeout(
    noteStopping,
    NOTICE_DELAY,
    `Waiting for running requests, for at most ${flags.drainTimeout}. Press Ctrl-C again to stop at once.`,
    host,
  );
  const outcome = await Promise.race([server.stop(drainTimeout), second]);
  clearTimeout(notice);
  await flushWithTimeout(reporting.then(accessLog.flush));
  if (outcome === "second signal") return ExitCode.INTERRUPTED;
  if (outcome === 0) {
    await noteStopping("Stopped.", host);
    return ExitCode.OK;
  }
  const requests = outcome === 1 ? "1 request" : `${outcome} requests`;
  log.error("--drain-timeout expired. Stopped with {requests} still running.", { requests });
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
  const { maxDepth, maxAliases, maxTokens, maxKeys, maxKeyLifetime, defaultKeyLifetime, metricsPort, ...parsed } =
    parseFlags(
      { ...flags, auditRetention: flags.auditRetention === "0" ? undefined : flags.auditRetention },
      SERVE_FLAGS,
    );
  if (maxKeyLifetime !== undefined && defaultKeyLifetime !== undefined && defaultKeyLifetime > maxKeyLifetime) {
    throw new Failure("USAGE", "--default-key-lifetime must not be longer than --max-key-lifetime.");
  }
  if (flags.metricsHost !== undefined && metricsPort === undefined) {
    throw new Failure("USAGE", "--metrics-host needs --metrics-port.");
  }
  const tls = await readTlsFiles(flags.tlsCert, flags.tlsKey);
  if (tls === undefined && !isLoopback(flags.host) && !flags.allowHttp) {
    throw new Failure(
      "USAGE",
      `--host ${quote(flags.host)} accepts connections from other machines. Without TLS, keys would be sent ` +
        "unencrypted. Use --tls-cert and --tls-key, or listen on 127.0.0.1 behind a TLS proxy, or add --allow-http if " +
        "the network is private.",
    );
  }
  return {
    ...parsed,
    hostname: flags.host,
    tls,
    trustedProxies: flags.trustProxy?.flatMap((list) => list.split(",")).map((proxy) => proxy.trim()) ?? [],
    metrics: metricsPort === undefined ? undefined : { hostname: flags.metricsHost ?? "127.0.0.1", port: metricsPort },
    auditRetention: parsed.auditRetention,
    lifetimes: { max: maxKeyLifetime, default: defaultKeyLifetime },
    limits: { depth: maxDepth, aliases: maxAliases, tokens: maxTokens, keys: maxKeys },
    expectsTelemetry: ["true", "1"].includes(host.env("OTEL_DENO") ?? ""),
    now: () => host.now(),
    logError: log.error,
  };
}

/** Reads the certificate again. If it cannot be used, logs the reason, and the server keeps the old certificate. */
async function reloadCertificate(
  { tlsCert, tlsKey }: ServeFlags,
  server: Pick<HttpServer, "setCertificate">,
  log: Log,
): Promise<void> {
  try {
    const certificate = await readTlsFiles(tlsCert, tlsKey);
    if (certificate !== undefined) server.setCertificate(certificate);
  } catch (error) {
    log.error("SIGHUP: the server keeps its certificate. {reason}", { reason: reasonOf(error) });
  }
}

/** How long the server stops before a terminal shows what it waits for, in milliseconds. */
const NOTICE_DELAY = 500;

/** Writes a line at a terminal. It replaces the `^C` that the terminal shows after Ctrl-C. */
async function noteStopping(text: string, host: Host): Promise<void> {
  if (!host.stderr.isTerminal()) return;
  await host.stderr.write(`\r${await wrapFor(host.stderr, text)}\n`).catch(() => {});
}

/** Returns two promises. The first resolves at the first SIGINT or SIGTERM, the second at the second signal. */
function waitForStopSignals(host: Host): readonly [Promise<void>, Promise<"second signal">] {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<"second signal">();
  let count = 0;
  host.onSignal(["SIGINT", "SIGTERM"], () => ++count === 1 ? first.resolve() : second.resolve("second signal"));
  return [first.promise, second.promise];
}
