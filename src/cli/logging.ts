/** Logs, on standard error, with every secret taken out. */
import { configureSync, type LogLevel, type LogRecord } from "@logtape/logtape";
import { redactByField } from "@logtape/redaction";
import { redactSecrets } from "../apikey/secret.ts";
import { escapeInvisible } from "../apikey/failure.ts";
import type { Host } from "./host.ts";

const LEVELS: ReadonlyMap<string, LogLevel> = new Map([
  ["trace", "trace"],
  ["debug", "debug"],
  ["info", "info"],
  ["warn", "warning"],
  ["warning", "warning"],
  ["error", "error"],
  ["fatal", "fatal"],
]);

/** Sends log records of `LOG_LEVEL` (default `warn`, also for a value that is no level) to standard error. */
export function configureLogging(host: Host): void {
  const level = LEVELS.get(host.env("LOG_LEVEL")?.toLowerCase() ?? "") ?? "warning";
  const sink = redactByField((record) => {
    host.stderr.write(format(record)).catch(() => {});
  });
  configureSync({
    reset: true,
    sinks: { stderr: sink },
    loggers: [
      { category: "service-api", lowestLevel: level, sinks: ["stderr"] },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: ["stderr"] },
    ],
  });
}

function format({ timestamp, level, category, message }: LogRecord): string {
  const text = message.map((part) => typeof part === "string" ? part : Deno.inspect(part)).join("");
  const line = escapeInvisible(redactSecrets(text));
  return `${new Date(timestamp).toISOString()} ${level.toUpperCase()} ${category.at(-1)}: ${line}\n`;
}
