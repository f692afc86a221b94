/** Says at a terminal what the program waits for, for how long, and how to stop it. */
import type { Host } from "../host/host.ts";
import { isBarShown } from "./progress.ts";
import { canMoveCursor, styleFor } from "./style.ts";
import { ERASE_LINE, truncate, widthOf } from "./text_width.ts";

/** The notice appears after this delay, in milliseconds. */
const NOTICE_DELAY = 500;

/** How long the spinner shows a frame, in milliseconds. */
const FRAME_TIME = 80;

/** A terminal that cannot redraw a line gets another line after this time, in milliseconds. */
const LINE_TIME = 10_000;

/** The clock of a wait, for tests. */
export interface WaitClock {
  /** Milliseconds since any time. */
  readonly now: () => number;
  /**
   * Calls `action` after a delay in milliseconds.
   *
   * @returns a function that prevents the call
   */
  readonly schedule: (action: () => void, delay: number) => () => void;
}

const SYSTEM_CLOCK: WaitClock = {
  now: () => performance.now(),
  schedule: (action, delay) => {
    const timer = setTimeout(action, delay);
    return () => clearTimeout(timer);
  },
};

/** Whether a notice may appear. All notices use the same line, so a wait inside another one shows nothing. */
let isWaiting = false;

/**
 * Waits for `work`. If it takes longer than 500 ms, shows a notice: a spinner that disappears with the wait or, if the
 * terminal cannot redraw lines, a line now and another every 10 s. Shows nothing if standard error is not a terminal,
 * during another wait, or while a progress bar is visible.
 *
 * @param subject what the program waits for; called again for each frame, because the reason may change
 * @returns the result of `work`
 */
export async function whileWaiting<Result>(
  subject: () => string,
  host: Host,
  work: Promise<Result>,
  clock: WaitClock = SYSTEM_CLOCK,
): Promise<Result> {
  if (isWaiting || isBarShown() || !host.stderr.isTerminal()) return await work;
  isWaiting = true;
  const { dim, symbols } = styleFor(host.stderr, host);
  const redraws = canMoveCursor(host.stderr, host);
  const start = clock.now();
  let frame = 0;
  let written = Promise.resolve();
  const write = (text: string): void => {
    written = written.then(() => host.stderr.write(text)).catch(() => {});
  };
  const drawFrame = (): void => {
    const seconds = Math.floor((clock.now() - start) / 1000);
    const notice = ["", ...seconds === 0 ? [] : [`${seconds} s`], "Ctrl-C stops"].join(symbols.separator);
    const columns = host.stderr.columns() - 3;
    const label = `Waiting for ${subject()}`;
    const text = `${truncate(label, Math.max(columns - widthOf(notice), 0), symbols.ellipsis)}${notice}`;
    const symbol = symbols.spinner[frame++ % symbols.spinner.length];
    if (redraws) write(`${ERASE_LINE}${symbol} ${dim(truncate(text, columns, symbols.ellipsis))}`);
    else write(`${label}${notice}\n`);
    cancel = clock.schedule(drawFrame, redraws ? FRAME_TIME : LINE_TIME);
  };
  let cancel = clock.schedule(drawFrame, NOTICE_DELAY);
  try {
    return await work;
  } finally {
    isWaiting = false;
    cancel();
    if (frame > 0 && redraws) write(ERASE_LINE);
    await written;
  }
}
