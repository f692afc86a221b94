/** What the program needs from outside. It is handed in, so that tests can run commands without a process. */
import type { Readable, Writable } from "node:stream";

export interface Host {
  /** The arguments after the program's name. */
  readonly args: readonly string[];
  /** An environment variable; an empty one counts as unset. */
  env(name: string): string | undefined;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly platform: Platform;
  /** The terminal of standard input and standard error, where both are one. */
  openTerminal(): Promise<Terminal>;
  now(): Date;
  /**
   * Calls `handler` instead of ending the process when one of the signals arrives.
   *
   * @returns a function that restores the ordinary behaviour
   */
  onSignal(signals: readonly Signal[], handler: () => void): () => void;
}

export type Platform = "darwin" | "linux" | "windows";

export type Signal = "SIGINT" | "SIGTERM";

export interface Input {
  isTerminal(): boolean;
  /**
   * Everything up to the end of the input, as UTF-8.
   *
   * @throws {Failure} `USAGE` the second time
   */
  readText(): Promise<string>;
}

/** What questions are asked through. */
export interface Terminal {
  /** Keys, once it is in raw mode. */
  readonly input: Readable;
  /** Says `resize` when the size changes, and has it in its `columns` and `rows`. */
  readonly output: Writable;
  size(): TerminalSize;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface Output {
  isTerminal(): boolean;
  /** How wide the terminal is, in columns; 80 where that is not known. */
  columns(): number;
  /**
   * Resolves when the whole text is written.
   *
   * @throws {Failure} `FAILED`, with the system's error as its cause
   */
  write(text: string): Promise<void>;
}
