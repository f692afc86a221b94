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
const WIDTHS = { duration: 9, key: 26, outcome: 37, address: 15, requestId: 36 } as const;

/** From these widths of the terminal, in columns, a line shows the duration and method, the address, the request id. */
const MIN_COLUMNS = { duration: 80, address: 120, requestId: 160 } as const;

/** A terminal of this width, in columns, has room for wider gaps, and for a key with a code. */
const WIDE_COLUMNS = 100;

/** A shorter path would say too little. Instead, the key and the code get a line of their own. */
const MIN_PATH = 8;

/**
 * Returns a function that writes a request on one line. The path is the last column, because only the path may be
 * shortened.
 */
async function textFormat(host: Host): Promise<(access: AccessLogEntry) => string> {
  const { styleFor, truncateMiddle, widthOf } = await import("#terminal");
  const style = styleFor(host.stderr, host);
  const { dim, symbols: { ellipsis } } = style;
  return ({ time, method, path, status, duration, code, keyId, secret, address, requestId }) => {
    const columns = host.stderr.columns();
    const hasDuration = columns >= MIN_COLUMNS.duration;
    const gap = columns >= WIDE_COLUMNS ? "  " : " ";
    const outcome = [keyId, secret && "old secret", code].filter((word) => word !== undefined).join(" ");
    const others = [
      ...hasDuration
        ? [outcome.padEnd(columns >= WIDE_COLUMNS ? WIDTHS.outcome : WIDTHS.key)]
        : outcome
        ? [outcome]
        : [],
      ...columns >= MIN_COLUMNS.address ? [address.padEnd(WIDTHS.address)] : [],
      ...columns >= MIN_COLUMNS.requestId ? [requestId.padEnd(WIDTHS.requestId)] : [],
    ].join(gap);
    const start = [time.toISOString().slice(11, 19), String(status), ...hasDuration ? [formatDuration(duration)] : []];
    const prefix = hasDuration ? `${method} ` : "";
    const shownPath = escapeInvisible(path);
    // The last column of the terminal stays empty.
    const room = columns - 1 - widthOf([...start, prefix].join(gap));
    const roomBeside = room - (others === "" ? 0 : widthOf(others) + gap.length);
    const isOneLine = roomBeside >= Math.min(MIN_PATH, widthOf(shownPath));
    const target = `${prefix}${truncateMiddle(shownPath, isOneLine ? roomBeside : room, ellipsis)}`;
    const [at = "", , ...rest] = start;
    const words = [dim(at), paintStatus(status, style), ...rest, ...isOneLine && others !== "" ? [others] : [], target];
    return `${words.join(gap)}\n${isOneLine ? "" : `  ${others.trimEnd()}\n`}`;
  };
}

/** Returns a duration in milliseconds, or a long one in seconds. */
function formatDuration(duration: number): string {
  const text = duration < 10_000 ? `${duration.toFixed(1)} ms` : `${(duration / 1000).toFixed(1)} s`;
  return text.padStart(WIDTHS.duration);
}

function paintStatus(status: number, { green, cyan, yellow, red }: Style): string {
  const paint = status < 300 ? green : status < 400 ? cyan : status < 500 ? yellow : red;
  return paint(String(status));
}
