/** A progress bar on standard error. It erases itself when the work ends. */
import type { Host } from "../host/host.ts";
import { isPlain, styleFor } from "./style.ts";
import { ERASE_LINE, truncate, widthOf } from "./text_width.ts";

let isBarVisible = false;

/** The bar and the notice about a wait use the same line, so no notice appears while a bar is visible. */
export function isBarShown(): boolean {
  return isBarVisible;
}

/** The maximum width of the bar, in columns. */
const BAR_WIDTH = 24;

/** If fewer columns remain for the bar, shows only the label and the count. */
const MIN_BAR_WIDTH = 4;

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
