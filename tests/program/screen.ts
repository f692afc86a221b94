/** A terminal in this process: what a prompt draws is read from the screen of an emulator, keys are typed into it. */
import xterm from "@xterm/headless";
import { PassThrough, Writable } from "node:stream";
import type { Terminal, TerminalSize } from "../../src/cli/host/host.ts";

/** Keys by their names; anything else is typed as it is. */
export const KEYS = {
  enter: "\r",
  space: " ",
  up: "\x1b[A",
  down: "\x1b[B",
  right: "\x1b[C",
  left: "\x1b[D",
  home: "\x1b[H",
  end: "\x1b[F",
  pageUp: "\x1b[5~",
  pageDown: "\x1b[6~",
  backspace: "\x7f",
  escape: "\x1b",
  ctrlA: "\x01",
  ctrlC: "\x03",
  ctrlD: "\x04",
  ctrlU: "\x15",
} as const;

const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";

/** How long something may take to appear on the screen, in milliseconds. */
const PATIENCE = 20_000;

export class Screen implements Terminal {
  readonly #emulator;
  #size: TerminalSize;
  /** What the emulator has not been given yet: it works with timers, which must not outlive a test. */
  #pending = "";
  #drawn = Promise.resolve();
  /** All that was written, with its escape sequences. */
  raw = "";
  /** Whether keys come one by one and are not shown. */
  isRaw = false;
  readonly input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => {
      this.isRaw = isRaw;
    },
  });
  readonly output: Writable;

  constructor(columns = 80, rows = 24) {
    this.#size = { columns, rows };
    this.#emulator = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, convertEol: true });
    const output = new Writable({
      write: (chunk, _encoding, done) => {
        this.write(String(chunk));
        done();
      },
    });
    this.output = Object.defineProperties(output, {
      columns: { get: () => this.#size.columns },
      rows: { get: () => this.#size.rows },
    });
  }

  size(): TerminalSize {
    return this.#size;
  }

  /** Makes the window another size. */
  async resize(columns: number, rows: number): Promise<void> {
    await this.#draw();
    this.#emulator.resize(columns, rows);
    this.#size = { columns, rows };
    this.output.emit("resize");
  }

  /** Whether the program has left the terminal as it found it: keys in lines, the cursor to be seen. */
  get isRestored(): boolean {
    return !this.isRaw && this.raw.lastIndexOf(HIDE_CURSOR) <= this.raw.lastIndexOf(SHOW_CURSOR);
  }

  write(text: string): void {
    this.raw += text;
    this.#pending += text;
  }

  #draw(): Promise<void> {
    const text = this.#pending;
    this.#pending = "";
    if (text !== "") {
      this.#drawn = this.#drawn.then(() => new Promise((resolve) => this.#emulator.write(text, resolve)));
    }
    return this.#drawn;
  }

  /** What is on the screen and above it: lines without trailing spaces, the last of them not empty. */
  async text(): Promise<string> {
    await this.#draw();
    const { active } = this.#emulator.buffer;
    const lines = Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? "");
    return lines.join("\n").trimEnd();
  }

  /**
   * Waits until the screen matches, and returns what is on it.
   *
   * @throws {Error} with what is on the screen when it does not come to match
   */
  async until(pattern: RegExp): Promise<string> {
    const deadline = Date.now() + PATIENCE;
    for (;;) {
      // deno-lint-ignore no-await-in-loop -- looks again and again
      const text = await this.text();
      if (pattern.test(text)) return text;
      if (Date.now() > deadline) throw new Error(`${pattern} is not on the screen:\n${text}`);
      // deno-lint-ignore no-await-in-loop -- lets the program go on
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** Types keys, one after the other. */
  press(...keys: readonly string[]): void {
    for (const key of keys) this.input.write(key);
  }

  /** Types a key, and returns how long it took until something was drawn, in milliseconds. */
  async timeKey(key: string): Promise<number> {
    const { length } = this.raw;
    const start = performance.now();
    this.press(key);
    while (this.raw.length === length) {
      if (performance.now() - start > PATIENCE) throw new Error(`nothing is drawn after ${JSON.stringify(key)}`);
      // deno-lint-ignore no-await-in-loop -- lets the program go on
      await new Promise((resolve) => setTimeout(resolve));
    }
    return performance.now() - start;
  }
}
