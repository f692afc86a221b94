/** The access log of `serve`: one line per request on standard error. */
import type { AccessLogEntry } from "../../../server/http/request_handler.ts";
import type { Host } from "../../host/host.ts";

export interface AccessLog {
  readonly record: (access: AccessLogEntry) => void;
  /** Resolves after all lines are written. */
  readonly flush: () => Promise<void>;
}

/** How long lines are collected before they are written together, in milliseconds. */
const DELAY = 20;

/**
 * The maximum number of lines that wait while no process reads standard error. Further lines are dropped and counted.
 */
const MAX_WAITING_LINES = 20_000;

/** Opens the log. If standard error is a terminal, the log writes text, otherwise JSON lines. */
export function openAccessLog(host: Host): AccessLog {
  const format = host.stderr.isTerminal() ? toText : toJson;
  const formatGap = (count: number): string => {
    const message = `${count} requests are missing from this log, because no process read standard error`;
    const time = host.now().toISOString();
    return host.stderr.isTerminal() ? `${message}\n` : `${JSON.stringify({ time, level: "warning", message })}\n`;
  };
  let lines: string[] = [];
  let dropped = 0;
  let writing: Promise<void> | undefined;

  async function writeAll(delay: number): Promise<void> {
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
    while (lines.length > 0) {
      const text = lines.join("");
      lines = dropped === 0 ? [] : [formatGap(dropped)];
      dropped = 0;
      // deno-lint-ignore no-await-in-loop -- the lines keep their order
      await host.stderr.write(text).catch(() => {});
    }
    writing = undefined;
  }

  return {
    record: (access) => {
      if (lines.length < MAX_WAITING_LINES) lines.push(format(access));
      else dropped++;
      writing ??= writeAll(DELAY);
    },
    flush: async () => {
      await writing;
      await writeAll(0);
    },
  };
}

function toJson({ time, duration, ...access }: AccessLogEntry): string {
  const durationMs = Math.round(duration * 1000) / 1000;
  return `${JSON.stringify({ time: time.toISOString(), level: "info", ...access, durationMs })}\n`;
}

function toText({ time, method, path, status, duration, code, keyId, address, requestId }: AccessLogEntry): string {
  const words = [
    time.toISOString().slice(11, 19),
    method,
    path,
    status,
    code,
    `${duration.toFixed(1)} ms`,
    keyId,
    address,
    requestId,
  ];
  return `${words.filter((word) => word !== undefined).join(" ")}\n`;
}
