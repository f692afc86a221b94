/** A terminal emulator in this process. Tests read the screen as text and type keys. */
import xterm from "@xterm/headless";
import { PassThrough, Writable } from "node:stream";
import type { Terminal, TerminalSize } from "../../src/cli/host/host.ts";

// The prompts' line editor reads TERM of this process. If TERM is `dumb`, the line editor ignores the editing keys.
Deno.env.set("TERM", "xterm-256color");

/** What a terminal sends for special keys. */
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
  tab: "\t",
  shiftTab: "\x1b[Z",
  backspace: "\x7f",
  escape: "\x1b",
  ctrlA: "\x01",
  ctrlC: "\x03",
  ctrlD: "\x04",
  ctrlU: "\x15",
} as const;

const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";

/** How long to wait for something to appear on the screen, in milliseconds. */
const TIMEOUT = 20_000;

export class Screen implements Terminal {
  readonly #emulator;
  #size: TerminalSize;
  /**
   * Text that the emulator has not received yet. An emulator that receives text starts timers, which would outlive a test
   * that does not wait for them. So the emulator receives text only when a test reads or resizes the screen.
   */
  #pending = "";
  #drawn = Promise.resolve();
  /** Everything written, including escape sequences. */
  raw = "";
  /** Whether the terminal is in raw mode. */
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

  /** Receives what the program writes other than through the prompts. */
  observeText: (text: string) => void = () => {};

  observe(listener: (text: string) => void): void {
    this.observeText = listener;
  }

  setEcho(isOn: boolean): void {
    this.isRaw = !isOn;
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#draw();
    this.#emulator.resize(columns, rows);
    this.#size = { columns, rows };
    this.output.emit("resize");
  }

  /** Whether the terminal is not in raw mode and its cursor is visible. */
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

  /** The lines on the screen and in the scrollback, without trailing spaces and without empty lines at the end. */
  async text(): Promise<string> {
    await this.#draw();
    const { active } = this.#emulator.buffer;
    const lines = Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? "");
    return lines.join("\n").trimEnd();
  }

  /** The lines in the window, with an escape sequence wherever colours or weight change, without empty lines at the end. */
  async window(): Promise<string> {
    await this.#draw();
    const { active } = this.#emulator.buffer;
    const { columns, rows } = this.#size;
    const lines = Array.from({ length: rows }, (_, row) => {
      const line = active.getLine(active.baseY + row);
      let painted = "";
      let style = "";
      for (let column = 0; column < columns; column++) {
        const cell = line?.getCell(column);
        // A wide character takes two cells, of which the second has no width.
        if (cell === undefined || cell.getWidth() === 0) continue;
        const codes = [
          ...(cell.isBold() ? [1] : []),
          ...(cell.isDim() ? [2] : []),
          ...(cell.isFgDefault() ? [] : [30 + cell.getFgColor()]),
        ].join(";");
        painted += `${codes === style ? "" : `\x1b[${codes}m`}${cell.getChars() || " "}`;
        style = codes;
      }
      return painted.trimEnd();
    });
    return lines.join("\n").trimEnd();
  }

  /**
   * Waits until the screen matches.
   *
   * @returns the text on the screen
   * @throws {Error} with the text on the screen, after 20 s
   */
  async until(pattern: RegExp): Promise<string> {
    const deadline = Date.now() + TIMEOUT;
    for (;;) {
      // deno-lint-ignore no-await-in-loop -- polls the screen
      const text = await this.text();
      if (pattern.test(text)) return text;
      if (Date.now() > deadline) throw new Error(`${pattern} did not appear on the screen:\n${text}`);
      // deno-lint-ignore no-await-in-loop -- gives the program time to run
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** Types keys. */
  press(...keys: readonly string[]): void {
    for (const key of keys) this.input.write(key);
  }

  /** Types a key and returns the milliseconds until the program drew something. */
  async timeKey(key: string): Promise<number> {
    const { length } = this.raw;
    const start = performance.now();
    this.press(key);
    while (this.raw.length === length) {
      if (performance.now() - start > TIMEOUT) throw new Error(`the program drew nothing after ${JSON.stringify(key)}`);
      // deno-lint-ignore no-await-in-loop -- gives the program time to run
      await new Promise((resolve) => setTimeout(resolve));
    }
    return performance.now() - start;
  }

  /** How long the program needs to show a paste, in milliseconds. Takes the fastest of three, because other tests run too. */
  async timePaste(text: string): Promise<number> {
    const times: number[] = [];
    while (times.length < 3) {
      // deno-lint-ignore no-await-in-loop -- the next paste begins after the previous one
      times.push(await this.timeKey(text));
      // deno-lint-ignore no-await-in-loop -- as above
      await this.timeKey(KEYS.ctrlU);
    }
    return Math.min(...times);
  }
}
