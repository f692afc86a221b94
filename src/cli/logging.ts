/** Logs, on standard error, with every secret taken out. */
import { configureSync, getLogger, type LogLevel, type LogRecord } from "@logtape/logtape";
import { redactByField } from "@logtape/redaction";
import { escapeInvisible } from "../apikey/failure.ts";
import { redactSecrets } from "../apikey/secret.ts";
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

/**
 * Sends records of a level and above to standard error.
 *
 * @param level as in `LOG_LEVEL`, in any case; `warn` stands in for what is no level, since other programs may
 * have others
 */
export function configureLogging(level: string, host: Host): Log {
  let written = Promise.resolve();
  const sink = redactByField((record) => {
    written = written.then(() => host.stderr.write(format(record))).catch(() => {});
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
    info: (message, properties) => logger.info(message, properties),
    error: (message, properties) => logger.error(message, properties),
    flush: () => written,
  };
}

function format({ timestamp, level, message }: LogRecord): string {
  const text = message.map((part) => typeof part === "string" ? part : Deno.inspect(part)).join("");
  return `${new Date(timestamp).toISOString()} ${level.toUpperCase()} ${escapeInvisible(redactSecrets(text))}\n`;
}
