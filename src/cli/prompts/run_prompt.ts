/** Runs one prompt at a terminal: reads keys, draws frames, and restores the terminal in every case. */
import { isCancel, Prompt } from "@clack/core";
import type { Key } from "node:readline";
import { Failure, NOTHING_CHANGED } from "../../apikey/failure.ts";
import type { Host, Terminal } from "../host/host.ts";
import type { Style } from "../terminal/style.ts";
import { truncate, wrapText } from "../terminal/text_width.ts";

/** Where and how prompts are drawn. */
export interface Screen {
  readonly host: Host;
  readonly terminal: Terminal;
  readonly style: Style;
  /** Once aborted, every later prompt is cancelled at once. */
  readonly interrupted: AbortSignal | undefined;
}

/** The constructor options that every clack prompt needs. */
export interface PromptStreams {
  readonly input: Terminal["input"];
  readonly output: Terminal["output"];
  readonly signal: AbortSignal;
}

/**
 * Shows a prompt until the user answers it.
 *
 * @throws {Failure} `INTERRUPTED` on Ctrl-C, Escape, SIGINT or SIGTERM, at the end of the input, and on Ctrl-D unless a
 * text prompt contains text
 */
export async function runPrompt<Value>(
  { host, terminal, interrupted }: Screen,
  createPrompt: (streams: PromptStreams) => Prompt<Value>,
): Promise<Value | undefined> {
  const { input, output } = terminal;
  const cancellation = new AbortController();
  const cancel = (): void => cancellation.abort();
  const restore = host.onSignal(["SIGINT", "SIGTERM"], cancel);
  input.once("end", cancel);
  if (input.readableEnded || interrupted?.aborted) cancel();
  try {
    const prompt = createPrompt({ input, output, signal: cancellation.signal });
    // On Ctrl-D, `node:readline` stops reading, but clack does not cancel the prompt. So cancel it here.
    prompt.on("key", (_typed, { ctrl, name }) => {
      if (ctrl && name === "d" && prompt.userInput === "") prompt.state = "cancel";
    });
    const answer = await prompt.prompt();
    if (!isCancel(answer)) return answer;
    throw new Failure("INTERRUPTED", NOTHING_CHANGED);
  } finally {
    input.off("end", cancel);
    restore();
  }
}

/** A prompt that reads single keys. */
export interface View {
  readonly label: string;
  /** @param error why the last Enter was rejected */
  draw(error: string | undefined): string;
  /** @returns whether the key answers the prompt, as Enter does */
  handleKey(typed: string | undefined, key: Key): boolean;
  /** The answer in the line that stays on the screen after the prompt. */
  answer(): string;
  /** Returns a message if the prompt cannot accept Enter now. */
  validate?(): string | undefined;
}

/**
 * Shows a view until the user answers it.
 *
 * @throws {Failure} `INTERRUPTED`
 */
export async function runView(view: View, screen: Screen): Promise<void> {
  await runPrompt<void>(screen, (streams) => {
    const prompt = new Prompt<void>({
      ...streams,
      validate: () => view.validate?.(),
      render(): string {
        const { state, error } = this;
        if (isFinished(state)) return answerLine(view.label, view.answer(), state, screen.style);
        return view.draw(state === "error" ? error : undefined);
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
export function answerLine(label: string, answer: string, state: string, style: Style): string {
  const { bold, dim, green, red, cyan, symbols } = style;
  return state === "cancel"
    ? `${red(symbols.error)} ${bold(punctuate(label))} ${dim("cancelled")}`
    : `${green(symbols.success)} ${bold(punctuate(label))} ${cyan(answer)}`.trimEnd();
}

function punctuate(label: string): string {
  return /[.?]$/.test(label) ? label : `${label}:`;
}

/** Whether the next frame of a prompt is its last one. */
export function isFinished(state: string): boolean {
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
