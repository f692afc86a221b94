/**
 * The log on standard error. It masks secrets in every record: API keys in any text, and the values of properties whose
 * names suggest a secret.
 */
import { escapeInvisible, Failure, quote } from "../../apikey/failure.ts";
import { redactSecrets } from "../../apikey/secret.ts";
import type { Host } from "./host.ts";
import { writeNotes } from "./notes.ts";

/** Takes a record: a message with `{placeholders}`, and the properties that replace them. */
type WriteRecord = (message: string, properties?: Readonly<Record<string, unknown>>) => void;

export interface Log {
  readonly debug: WriteRecord;
  readonly warn: WriteRecord;
  readonly error: WriteRecord;
  /** Whether debug records are written. What takes time to find out for them is done only then. */
  readonly isDebug: boolean;
  /** Resolves when all records are written; `undefined` if there were none. */
  readonly flush: () => Promise<void> | undefined;
}

/** Discards every record. */
export const SILENT_LOG: Log = {
  debug: () => {},
  warn: () => {},
  error: () => {},
  isDebug: false,
  flush: () => undefined,
};

/** The levels from most to least verbose. Users can set each level, but no record is `trace`, `info` or `fatal`. */
const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;

/** The maximum number of records that wait while no process reads standard error. Further records are lost. */
const MAX_WAITING_RECORDS = 1000;

/** The longest wait for the log, in milliseconds. */
const FLUSH_TIMEOUT = 1000;

const SECRET_NAME = /authorization|cookie|credential|key|pass|secret|token/i;

/** Waits until a log is written, but at most 1 second, because standard error may have no reader. */
export async function flushWithTimeout(written: Promise<void> | undefined): Promise<void> {
  if (written === undefined) return;
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, FLUSH_TIMEOUT);
  await Promise.race([written, timeout]);
  clearTimeout(timer);
}

/**
 * Opens the log with the level in `LOG_LEVEL`. If the variable is unset, logs warnings and errors. `serve` writes JSON
 * lines unless standard error is a terminal. All other commands write text. At a terminal, their warnings and errors are
 * messages without a time, like those of failures.
 *
 * @throws {Failure} `USAGE` if the level is unknown
 */
export function openLog(host: Host): Log {
  const requested = host.env("LOG_LEVEL") ?? "warn";
  const minimum = LEVELS.findIndex((level) => level === requested.trim().toLowerCase().replace(/^warning$/, "warn"));
  if (minimum === -1) {
    const list = LEVELS.join(", ").replace(/, (\w+)$/, " or $1");
    throw new Failure("USAGE", `LOG_LEVEL must be ${list}, not ${quote(requested)}.`);
  }
  const isServer = host.args[0] === "serve";
  const isTerminal = host.stderr.isTerminal();
  const format = isServer && !isTerminal ? toJson : toText;
  const isMessage = (level: typeof LEVELS[number]): boolean => isTerminal && !isServer && level !== "debug";
  let written: Promise<void> | undefined;
  let waiting = 0;
  const at = (level: typeof LEVELS[number], name: string): WriteRecord => (message, properties = {}) => {
    if (LEVELS.indexOf(level) < minimum || waiting >= MAX_WAITING_RECORDS) return;
    const text = redactSecrets(fill(message, properties));
    const record = format(host.now(), name, text);
    const write = (): Promise<void> =>
      isMessage(level) ? writeNotes([`${capitalize(name)}: ${text}`], host) : host.stderr.write(record);
    waiting++;
    written = (written ?? Promise.resolve()).then(write).catch(() => {}).finally(() => waiting--);
  };
  return {
    debug: at("debug", "debug"),
    warn: at("warn", "warning"),
    error: at("error", "error"),
    isDebug: LEVELS.indexOf("debug") >= minimum,
    flush: () => written,
  };
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function toText(time: Date, level: string, message: string): string {
  return `${time.toISOString()} ${level.toUpperCase()} ${escapeInvisible(message)}\n`;
}

function toJson(time: Date, level: string, message: string): string {
  return `${JSON.stringify({ time: time.toISOString(), level, message })}\n`;
}

function fill(message: string, properties: Readonly<Record<string, unknown>>): string {
  return message.replaceAll(/\{(\w+)\}/g, (_placeholder, name) => toWords(redactProperty(name, properties[name])));
}

function redactProperty(name: string, value: unknown): unknown {
  if (SECRET_NAME.test(name)) return "…";
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([member, inner]) => [member, redactProperty(member, inner)]));
}

/** The message of a `Failure` says enough. Other errors are logged with their stack. */
function toWords(value: unknown): string {
  if (value instanceof Failure) return value.message;
  return typeof value === "string" ? value : Deno.inspect(value);
}
