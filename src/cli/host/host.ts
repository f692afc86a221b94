/**
 * The outside world of the program: arguments, environment, streams, terminal, clock and signals. Commands receive a
 * `Host` as an argument, so that tests can run commands without starting a process.
 */
import type { Readable, Writable } from "node:stream";

export interface Host {
  /** The arguments after the program's name. */
  readonly args: readonly string[];
  /** The value of an environment variable, or `undefined` if it is unset or empty. */
  env(name: string): string | undefined;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  /**
   * Whether standard output was closed when the program started. `false` on Windows. On macOS and Deno 2.9, also `true` if
   * standard output is `/dev/null`.
   */
  isOutputClosed(): Promise<boolean>;
  readonly platform: Platform;
  /** Opens the terminal for prompts. Standard input and standard error must be terminals. */
  openTerminal(): Promise<Terminal>;
  /**
   * Keeps what the user types off the screen and for the next prompt while the program does something else. Without this,
   * a secret that is pasted early would be shown, and could reach the shell after the program. `undefined` on Windows.
   *
   * @returns a function that ends this
   */
  readonly hideTyping?: (() => () => void) | undefined;
  now(): Date;
  /**
   * Calls `handler` when one of the signals arrives, instead of ending the process.
   *
   * @returns a function that removes the handler
   */
  onSignal(signals: readonly Signal[], handler: () => void): () => void;
}

export type Platform = "darwin" | "linux" | "windows";

export type Signal = "SIGHUP" | "SIGINT" | "SIGTERM";

export interface Input {
  isTerminal(): boolean;
  /**
   * Reads standard input to its end, as UTF-8.
   *
   * @throws {Failure} `USAGE` on the second call
   */
  readText(): Promise<string>;
}

/** The streams of prompts. */
export interface Terminal {
  /** The keys that the user presses, as bytes. */
  readonly input: Readable;
  /**
   * Has the properties `columns` and `rows`. Emits `resize` when the size changes, and `continue` when the user continues
   * the suspended program in raw mode.
   */
  readonly output: Writable;
  size(): TerminalSize;
  /** Calls a function with each text that the program writes to standard error other than through `output`. */
  observe(listener: (text: string) => void): void;
  /**
   * Whether the terminal itself shows and edits what the user types, as it does unless a prompt reads single keys. If
   * not, Ctrl-C is a key instead of a signal.
   */
  setEcho(isOn: boolean): void;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface Output {
  isTerminal(): boolean;
  /** The width of the terminal in columns, or 80 if it is unknown. */
  columns(): number;
  /**
   * Writes the whole text.
   *
   * @throws {Failure} `FAILED`, with the system's error as the cause
   */
  write(text: string): Promise<void>;
}
