/** A line on standard error that tells a person what is going on, and is gone when it is over. */
import type { Host } from "../host/host.ts";
import { canMoveCursor, styleFor } from "./style.ts";
import { cut, widthOf } from "./text_width.ts";

/** How long something may take before anybody is told to wait, and for how long a frame stays, in milliseconds. */
const DELAY = 300;
const FRAME = 80;

/** The line has one user at a time: while a bar is shown, nothing else is. */
let barIsShown = false;

const ERASE = "\r\x1b[2K";
const BAR_WIDTH = 24;

/** A narrower bar is left out. */
const LEAST_BAR_WIDTH = 4;

/**
 * Waits for something, with a spinner after 300 ms where standard error is a terminal.
 *
 * @param label what is waited for
 */
export async function whileWaiting<Result>(label: string, host: Host, work: Promise<Result>): Promise<Result> {
  if (barIsShown || !canMoveCursor(host.stderr, host)) return await work;
  const { dim, symbols } = styleFor(host.stderr, host);
  let frame = 0;
  let drawn = Promise.resolve();
  const draw = (text: string): void => {
    drawn = drawn.then(() => host.stderr.write(text)).catch(() => {});
  };
  let timer = setTimeout(function next(): void {
    const symbol = symbols.spinner[frame++ % symbols.spinner.length];
    draw(`${ERASE}${symbol} ${dim(cut(label, host.stderr.columns() - 3, symbols.ellipsis))}`);
    timer = setTimeout(next, FRAME);
  }, DELAY);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
    if (frame > 0) draw(ERASE);
    await drawn;
  }
}

/** A bar that grows. That it cannot be drawn is no failure. */
export interface Progress {
  /** @param done how many of all are done */
  show(done: number): Promise<void>;
  end(): Promise<void>;
}

/** A bar for `total` things, where standard error is a terminal. */
export function openProgress(label: string, total: number, host: Host): Progress {
  if (!canMoveCursor(host.stderr, host)) return { show: () => Promise.resolve(), end: () => Promise.resolve() };
  const { cyan, dim, symbols } = styleFor(host.stderr, host);
  return {
    show: (done) => {
      const columns = host.stderr.columns() - 1;
      const room = columns - widthOf(`${label} ${total}/${total}`) - 1;
      const width = room < LEAST_BAR_WIDTH ? 0 : Math.min(BAR_WIDTH, room);
      const length = Math.round(width * done / total);
      const bar = `${cyan(symbols.barDone.repeat(length))}${dim(symbols.barLeft.repeat(width - length))}`;
      const words = cut(`${label} ${done}/${total}`, columns, symbols.ellipsis);
      barIsShown = true;
      return host.stderr.write(`${ERASE}${width === 0 ? "" : `${bar} `}${words}`).catch(() => {});
    },
    end: () => {
      barIsShown = false;
      return host.stderr.write(ERASE).catch(() => {});
    },
  };
}
