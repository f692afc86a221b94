/** The access log of `serve`: one line per request on standard error. */
import { escapeInvisible } from "../../../apikey/failure.ts";
import type { AccessLogEntry } from "../../../server/http/request_handler.ts";
import type { Host } from "../../host/host.ts";
import type { Style } from "../../terminal/style.ts";

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

/** Opens the log. If standard error is a terminal, the log writes aligned text, otherwise JSON lines. */
export async function openAccessLog(host: Host): Promise<AccessLog> {
  const format = host.stderr.isTerminal() ? await textFormat(host) : toJson;
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

/** The widths of the columns in which most values fit. Longer values move the rest of the line to the right. */
const WIDTHS = { duration: 9, method: 4, path: 11, outcome: 26, address: 15 } as const;

async function textFormat(host: Host): Promise<(access: AccessLogEntry) => string> {
  const { styleFor, widthOf } = await import("#terminal");
  const style = styleFor(host.stderr, host);
  return ({ time, method, path, status, duration, code, keyId, address, requestId }) => {
    const start = [
      time.toISOString().slice(11, 19),
      String(status),
      `${duration.toFixed(1)} ms`.padStart(WIDTHS.duration),
      method.padEnd(WIDTHS.method),
      escapeInvisible(path).padEnd(WIDTHS.path),
    ].join("  ");
    const outcome = [code, keyId].filter((word) => word !== undefined).join(" ");
    const full = [start, outcome.padEnd(WIDTHS.outcome), address.padEnd(WIDTHS.address), requestId].join("  ");
    // The start and the outcome say the most. The rest is left out if it would continue on the next line.
    const columns = host.stderr.columns();
    const shown = [full, full.slice(0, -requestId.length), [start, outcome].join("  ")].map((line) => line.trimEnd())
      .find((line) => widthOf(line) < columns) ?? [start, outcome].join("  ").trimEnd();
    return `${paintStatus(shown, status, style)}\n`;
  };
}

/** The column of the status begins after the time. */
const STATUS_START = 10;

function paintStatus(line: string, status: number, { dim, green, cyan, yellow, red }: Style): string {
  const paint = status < 300 ? green : status < 400 ? cyan : status < 500 ? yellow : red;
  const end = STATUS_START + String(status).length;
  return `${dim(line.slice(0, STATUS_START))}${paint(line.slice(STATUS_START, end))}${line.slice(end)}`;
}
