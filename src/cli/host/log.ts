/**
 * Where log records go. LogTape is loaded when there is something to log: most invocations have nothing, and it
 * is a noticeable part of their time.
 */
import type { Host } from "./host.ts";

/** Takes a record: a message with `{placeholders}`, and the properties that fill them. */
type TakeRecord = (message: string, properties?: Record<string, unknown>) => void;

/** Takes records of three levels. */
export interface Log {
  readonly debug: TakeRecord;
  readonly warn: TakeRecord;
  readonly error: TakeRecord;
  /** Resolves when what was logged is written; `undefined` where nothing can be waiting. */
  readonly flush: () => Promise<void> | undefined;
}

/** Takes everything and writes nothing. */
export const SILENT_LOG: Log = { debug: () => {}, warn: () => {}, error: () => {}, flush: () => undefined };

/** How long the program waits at its end for somebody to read its log, in milliseconds. */
const PATIENCE = 1000;

/** Waits for logs to be written, but not for ever: where nobody reads standard error, they never are. */
export async function flushWithTimeout(written: Promise<void> | undefined): Promise<void> {
  if (written === undefined) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, PATIENCE);
  await Promise.race([written, promise]);
  clearTimeout(timer);
}

/** The log for `LOG_LEVEL`; without that variable it takes warnings and errors. */
export async function openLog(host: Host): Promise<Log> {
  const level = host.env("LOG_LEVEL");
  if (level !== undefined) {
    const [{ configureLogging }, { VERSION }] = await Promise.all([import("#logging"), import("#version")]);
    const log = configureLogging(level, host);
    log.debug(VERSION);
    return log;
  }
  let records: Promise<void> | undefined;
  const later = (kind: "warn" | "error"): TakeRecord => (message, properties) => {
    records = (records ?? Promise.resolve()).then(async () => {
      const log = (await import("#logging")).configureLogging("warn", host);
      log[kind](message, properties);
      await log.flush();
    });
  };
  return { debug: () => {}, warn: later("warn"), error: later("error"), flush: () => records };
}
