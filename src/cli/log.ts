/**
 * Where log records go. LogTape is loaded when there is something to log: most invocations have nothing, and it
 * is a noticeable part of their time.
 */
import type { Host } from "./host.ts";

/** Takes records: a message with `{placeholders}`, and the properties that fill them. */
export interface Log {
  debug(message: string, properties?: Record<string, unknown>): void;
  info(message: string, properties?: Record<string, unknown>): void;
  error(message: string, properties?: Record<string, unknown>): void;
}

/** The log for `LOG_LEVEL`; without that variable it takes errors alone. */
export async function openLog(host: Host): Promise<Log> {
  const level = host.env("LOG_LEVEL");
  if (level !== undefined) return (await import("./logging.ts")).configureLogging(level, host);
  return {
    debug: () => {},
    info: () => {},
    error: (message, properties) => {
      import("./logging.ts").then(({ configureLogging }) => configureLogging("error", host).error(message, properties));
    },
  };
}
