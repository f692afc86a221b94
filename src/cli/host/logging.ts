/** Logs, on standard error, with every secret taken out. */
import { configureSync, getLogger, type LogLevel, type LogRecord } from "@logtape/logtape";
import { redactByField } from "@logtape/redaction";
import { escapeInvisible, Failure } from "../../apikey/failure.ts";
import { redactSecrets } from "../../apikey/secret.ts";
import type { Host } from "./host.ts";
import type { Log } from "./log.ts";

const LEVELS: ReadonlyMap<string, LogLevel> = new Map([
  ["trace", "trace"],
  ["debug", "debug"],
  ["info", "info"],
  ["warn", "warning"],
  ["warning", "warning"],
  ["error", "error"],
  ["fatal", "fatal"],
]);

/** How many records wait for somebody to read standard error; what comes on top is dropped. */
const MOST_RECORDS = 1000;

/**
 * Sends records of a level and above to standard error.
 *
 * @param level as in `LOG_LEVEL`, in any case; `warn` stands in for what is no level, since other programs may
 * have others
 */
export function configureLogging(level: string, host: Host): Log {
  // What runs for months is read by programs, unless somebody looks on.
  const isService = host.args[0] === "serve" && !host.stderr.isTerminal();
  let written = Promise.resolve();
  let waiting = 0;
  const sink = redactByField((record) => {
    const text = isService ? formatJson(record) : format(record);
    if (waiting >= MOST_RECORDS) return;
    waiting++;
    written = written.then(() => host.stderr.write(text)).catch(() => {}).finally(() => waiting--);
  });
  configureSync({
    reset: true,
    sinks: { stderr: sink },
    loggers: [
      {
        category: "service-api",
        lowestLevel: LEVELS.get(level.trim().toLowerCase()) ?? "warning",
        sinks: ["stderr"],
      },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: ["stderr"] },
    ],
  });
  const logger = getLogger("service-api");
  return {
    debug: (message, properties) => logger.debug(message, properties),
    warn: (message, properties) => logger.warn(message, properties),
    error: (message, properties) => logger.error(message, properties),
    flush: () => written,
  };
}

function format({ timestamp, level, message }: LogRecord): string {
  return `${new Date(timestamp).toISOString()} ${level.toUpperCase()} ${escapeInvisible(toText(message))}\n`;
}

function formatJson({ timestamp, level, message }: LogRecord): string {
  return `${JSON.stringify({ time: new Date(timestamp).toISOString(), level, message: toText(message) })}\n`;
}

function toText(message: LogRecord["message"]): string {
  return redactSecrets(message.map(toWords).join(""));
}

/** A failure says all there is to it; of other errors the stack is wanted. */
function toWords(part: unknown): string {
  if (part instanceof Failure) return part.message;
  return typeof part === "string" ? part : Deno.inspect(part);
}
