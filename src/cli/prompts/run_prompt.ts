/** Runs one prompt at a terminal: reads keys, draws frames, and restores the terminal in every case. */
import { isCancel, Prompt, settings } from "@clack/core";
import type { Key } from "node:readline";
import { Failure, NOTHING_CHANGED } from "../../apikey/failure.ts";
import type { Host, Terminal } from "../host/host.ts";
import type { Style } from "../terminal/style.ts";
import { truncate, wrapText } from "../terminal/text_width.ts";
import { GoBack } from "./options.ts";

/** Where and how prompts are drawn. */
export interface Screen {
  readonly host: Host;
  readonly terminal: Terminal;
  readonly style: Style;
  /** Once aborted, every later prompt is cancelled at once. */
  readonly interrupted: AbortSignal | undefined;
}

/** What every kind of prompt passes to {@linkcode runPrompt}. */
export interface Frame {
  readonly label: string;
  readonly canGoBack?: boolean;
  /** The answer in the line that stays on the screen after the prompt. */
  answer(): string;
  /** Clears the filter. Returns `false` if the prompt has none. */
  clearFilter?(): boolean;
  /** Whether the key goes back, besides Escape and Shift-Tab. */
  isBackKey?(key: Key): boolean;
  /** Receives the unfinished answer when the user goes back. */
  saveDraft?(): void;
}

/** The constructor options that every clack prompt needs. */
export interface PromptStreams {
  readonly input: Terminal["input"];
  readonly output: Terminal["output"];
  readonly signal: AbortSignal;
}

// clack would cancel the prompt on Escape. Here, Escape may also clear a filter or go back.
settings.aliases.delete("escape");

/** Moves the cursor to the line above. */
const CURSOR_UP = "\x1b[1A";

/**
 * Shows a prompt until the user answers it.
 *
 * @param createPrompt `lastFrame` returns the text that stays on the screen, or `undefined` while the prompt is open
 * @throws {Failure} `INTERRUPTED` on Ctrl-C, SIGINT or SIGTERM, at the end of the input, on Ctrl-D unless a text prompt
 * contains text, and on Escape unless it clears a filter or goes back
 * @throws {GoBack} if `canGoBack` is set and the user goes back
 */
export async function runPrompt<Value>(
  frame: Frame,
  { host, terminal, style, interrupted }: Screen,
  createPrompt: (streams: PromptStreams, lastFrame: (state: string) => string | undefined) => Prompt<Value>,
): Promise<Value | undefined> {
  const { input, output } = terminal;
  const cancellation = new AbortController();
  const cancel = (): void => cancellation.abort();
  const restore = host.onSignal(["SIGINT", "SIGTERM"], cancel);
  input.once("end", cancel);
  if (input.readableEnded || interrupted?.aborted) cancel();
  let goesBack = false;
  const lastFrame = (state: string): string | undefined => {
    if (!isFinished(state)) return undefined;
    return goesBack ? "" : answerLine(frame.label, state === "submit" ? frame.answer() : "", state, style);
  };
  try {
    const prompt = createPrompt({ input, output, signal: cancellation.signal }, lastFrame);
    prompt.on("key", (_typed, key) => {
      const { ctrl, name, shift } = key;
      const isEscape = name === "escape" && !frame.clearFilter?.();
      goesBack = frame.canGoBack === true &&
        (isEscape || (shift === true && name === "tab") || frame.isBackKey?.(key) === true);
      // On Ctrl-D, `node:readline` stops reading, but clack does not cancel the prompt. So cancel it here.
      const isEnd = ctrl === true && name === "d" && prompt.userInput === "";
      if (goesBack || isEscape || isEnd) prompt.state = "cancel";
    });
    const answer = await prompt.prompt();
    if (!isCancel(answer)) return answer;
  } finally {
    input.off("end", cancel);
    restore();
  }
  if (!goesBack) throw new Failure("INTERRUPTED", NOTHING_CHANGED);
  // The last frame was empty, and clack has ended its line.
  output.write(CURSOR_UP);
  frame.saveDraft?.();
  throw new GoBack();
}

/** A prompt that reads single keys. */
export interface View extends Frame {
  /** @param error why the last Enter was rejected */
  draw(error: string | undefined): string;
  /** @returns whether the key answers the prompt, as Enter does */
  handleKey(typed: string | undefined, key: Key): boolean;
  /** Returns a message if the prompt cannot accept Enter now. */
  validate?(): string | undefined;
}

/**
 * Shows a view until the user answers it.
 *
 * @throws {Failure} `INTERRUPTED`
 * @throws {GoBack}
 */
export async function runView(view: View, screen: Screen): Promise<void> {
  await runPrompt<void>(view, screen, (streams, lastFrame) => {
    const prompt = new Prompt<void>({
      ...streams,
      validate: () => view.validate?.(),
      render(): string {
        const { state, error } = this;
        return lastFrame(state) ?? view.draw(state === "error" ? error : undefined);
      },
    }, false);
    prompt.on("key", (typed, key) => {
      if (view.handleKey(typed, key)) prompt.state = "submit";
    });
    return prompt;
  });
}

/** The first line of an open prompt. */
export function promptLine(label: string, rest: string, { bold, cyan, symbols }: Style): string {
  return `${cyan(symbols.question)} ${bold(punctuate(label))} ${rest}`.trimEnd();
}

/** The line that stays on the screen after a prompt: the label, and the answer or `cancelled`. */
function answerLine(label: string, answer: string, state: string, style: Style): string {
  const { bold, dim, green, red, cyan, symbols } = style;
  return state === "cancel"
    ? `${red(symbols.error)} ${bold(punctuate(label))} ${dim("cancelled")}`
    : `${green(symbols.success)} ${bold(punctuate(label))} ${cyan(answer)}`.trimEnd();
}

/** A label with a colon, unless it is a sentence or a question. */
export function punctuate(label: string): string {
  return /[.?]$/.test(label) ? label : `${label}:`;
}

/** Whether the next frame of a prompt is its last one. */
function isFinished(state: string): boolean {
  return state === "submit" || state === "cancel";
}

/** The line that says what the keys do, truncated to the width of the terminal. */
export function keyHelpLine(keys: readonly string[], { style: { dim, symbols }, terminal }: Screen): string {
  return dim(`  ${truncate(keys.join(symbols.separator), terminal.size().columns - 3, symbols.ellipsis)}`);
}

/** An error message below a prompt, wrapped to the width of the terminal. */
export function errorLines(message: string, { style: { symbols, yellow }, terminal }: Screen): readonly string[] {
  const start = `  ${symbols.error} `;
  return wrapText(message, terminal.size().columns - start.length - 1)
    .map((line, index) => yellow(`${index === 0 ? start : " ".repeat(start.length)}${line}`));
}

/** The message of the {@linkcode Failure} that a check throws, or `undefined` if it passes. */
export function failureMessage(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
}
