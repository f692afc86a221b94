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

/** A terminal that is narrower than this, in columns, shows only the time, the status, the path and the outcome. */
const MIN_COLUMNS_FOR_DURATION = 60;

/** The minimum width of a path in a narrow terminal: that of `/graphql`. */
const MIN_PATH = 8;

async function textFormat(host: Host): Promise<(access: AccessLogEntry) => string> {
  const { styleFor, truncate, truncateMiddle, widthOf } = await import("#terminal");
  const style = styleFor(host.stderr, host);
  const { symbols: { ellipsis } } = style;
  return ({ time, method, path, status, duration, code, keyId, address, requestId }) => {
    const columns = host.stderr.columns();
    const isNarrow = columns < MIN_COLUMNS_FOR_DURATION;
    const gap = isNarrow ? " " : "  ";
    const start = [style.dim(time.toISOString().slice(11, 19)), paintStatus(status, style)].join(gap);
    // The time and the status have 8 and 3 columns. The last column stays empty.
    const room = columns - 1 - (8 + gap.length + 3 + gap.length);
    const outcome = [code, keyId].filter((word) => word !== undefined).join(" ");
    const before = isNarrow
      ? []
      : [`${duration.toFixed(1)} ms`.padStart(WIDTHS.duration), method.padEnd(WIDTHS.method)];
    const line = (path: string, others: readonly string[]): string =>
      [...before, path.padEnd(isNarrow ? 0 : WIDTHS.path), ...others].join(gap).trimEnd();
    const full = [outcome.padEnd(WIDTHS.outcome), address.padEnd(WIDTHS.address), requestId];
    const shownPath = escapeInvisible(path);
    // What says the least is left out first. Then long paths lose their middles, and the line loses its end.
    const options = (isNarrow ? [] : [full, full.slice(0, 2)]).map((others) => line(shownPath, others));
    const pathRoom = Math.max(
      isNarrow ? MIN_PATH : WIDTHS.path,
      room - widthOf(line("", [outcome])) + (isNarrow ? 0 : WIDTHS.path),
    );
    const shortest = line(truncateMiddle(shownPath, pathRoom, ellipsis), [outcome]);
    const shown = options.find((text) => widthOf(text) <= room) ?? truncate(shortest, room, ellipsis);
    return `${start}${gap}${shown}\n`;
  };
}

function paintStatus(status: number, { green, cyan, yellow, red }: Style): string {
  const paint = status < 300 ? green : status < 400 ? cyan : status < 500 ? yellow : red;
  return paint(String(status));
}
