/** A spinner and a progress bar on standard error. Both erase themselves when the work ends. */
import type { Host } from "../host/host.ts";
import { canMoveCursor, isPlain, styleFor } from "./style.ts";
import { truncate, widthOf } from "./text_width.ts";

/** The spinner appears after this delay, in milliseconds. */
const SPINNER_DELAY = 300;

/** How long the spinner shows a frame, in milliseconds. */
const FRAME_TIME = 80;

/** The bar and the spinner use the same line, so no spinner appears while a bar is visible. */
let isBarVisible = false;

const ERASE_LINE = "\r\x1b[2K";

/** The maximum width of the bar, in columns. */
const BAR_WIDTH = 24;

/** If fewer columns remain for the bar, shows only the label and the count. */
const MIN_BAR_WIDTH = 4;

/**
 * Waits for `work`. If `work` takes longer than 300 ms, shows a spinner with the label. Shows no spinner while a
 * progress bar is visible, or if standard error is not a terminal that understands escape sequences.
 *
 * @returns the result of `work`
 */
export async function withSpinner<Result>(label: string, host: Host, work: Promise<Result>): Promise<Result> {
  if (isBarVisible || !canMoveCursor(host.stderr, host)) return await work;
  const { dim, symbols } = styleFor(host.stderr, host);
  let frame = 0;
  let written = Promise.resolve();
  const write = (text: string): void => {
    written = written.then(() => host.stderr.write(text)).catch(() => {});
  };
  let timer = setTimeout(function drawFrame(): void {
    const symbol = symbols.spinner[frame++ % symbols.spinner.length];
    write(`${ERASE_LINE}${symbol} ${dim(truncate(label, host.stderr.columns() - 3, symbols.ellipsis))}`);
    timer = setTimeout(drawFrame, FRAME_TIME);
  }, SPINNER_DELAY);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
    if (frame > 0) write(ERASE_LINE);
    await written;
  }
}

/** A progress bar. It ignores write errors, because the work must continue without the bar. */
export interface Progress {
  /** @param done how many items are done */
  show(done: number): Promise<void>;
  /** Erases the bar. */
  end(): Promise<void>;
}

/**
 * Opens a progress bar for `total` items. Draws nothing if standard error is not a terminal. At a plain terminal, writes
 * one line when the work begins.
 */
export function openProgress(label: string, total: number, host: Host): Progress {
  if (!host.stderr.isTerminal()) return { show: () => Promise.resolve(), end: () => Promise.resolve() };
  if (isPlain(host)) {
    let shown: Promise<void> | undefined;
    const line = `${label} (${total})...\n`;
    return { show: () => shown ??= host.stderr.write(line).catch(() => {}), end: () => Promise.resolve() };
  }
  const { cyan, dim, symbols } = styleFor(host.stderr, host);
  return {
    show: (done) => {
      const columns = host.stderr.columns() - 1;
      const room = columns - widthOf(`${label} ${total}/${total}`) - 1;
      const width = room < MIN_BAR_WIDTH ? 0 : Math.min(BAR_WIDTH, room);
      const length = Math.round(width * done / total);
      const bar = `${cyan(symbols.barDone.repeat(length))}${dim(symbols.barLeft.repeat(width - length))}`;
      const text = truncate(`${label} ${done}/${total}`, columns, symbols.ellipsis);
      isBarVisible = true;
      return host.stderr.write(`${ERASE_LINE}${width === 0 ? "" : `${bar} `}${text}`).catch(() => {});
    },
    end: () => {
      isBarVisible = false;
      return host.stderr.write(ERASE_LINE).catch(() => {});
    },
  };
}
