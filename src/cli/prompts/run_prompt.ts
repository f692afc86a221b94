/** Runs one prompt at a terminal: keys in, frames out, and the terminal as it was whatever comes of it. */
import { isCancel, Prompt } from "@clack/core";
import type { Key } from "node:readline";
import { Failure, NOTHING_CHANGED } from "../../apikey/failure.ts";
import type { Host, Terminal } from "../host/host.ts";
import type { Style } from "../terminal/style.ts";
import { linesOf } from "../terminal/text_width.ts";

/** Where prompts are drawn, and how. */
export interface Screen {
  readonly host: Host;
  readonly terminal: Terminal;
  readonly style: Style;
  /** Aborted when no question is to be asked any more. */
  readonly interrupted: AbortSignal | undefined;
}

/** What a prompt is made with. */
export interface PromptStreams {
  readonly input: Terminal["input"];
  readonly output: Terminal["output"];
  readonly signal: AbortSignal;
}

/**
 * Shows a prompt until it is answered.
 *
 * @throws {Failure} `INTERRUPTED` on Ctrl-C, Escape, Ctrl-D, a signal, or the end of the input
 */
export async function runPrompt<Value>(
  { host, terminal, interrupted }: Screen,
  make: (streams: PromptStreams) => Prompt<Value>,
): Promise<Value | undefined> {
  const { input, output } = terminal;
  const abandoned = new AbortController();
  const abandon = (): void => abandoned.abort();
  const restore = host.onSignal(["SIGINT", "SIGTERM"], abandon);
  input.once("end", abandon);
  if (input.readableEnded || interrupted?.aborted) abandon();
  try {
    const prompt = make({ input, output, signal: abandoned.signal });
    // Ctrl-D ends the input for the line editor, which then says nothing more.
    prompt.on("key", (_typed, { ctrl, name }) => {
      if (ctrl && name === "d" && prompt.userInput === "") prompt.state = "cancel";
    });
    const answer = await prompt.prompt();
    if (!isCancel(answer)) return answer;
    throw new Failure("INTERRUPTED", NOTHING_CHANGED);
  } finally {
    input.off("end", abandon);
    restore();
  }
}

/** A prompt that is nothing but keys and what they draw. */
export interface View {
  readonly label: string;
  /** @param refusal why the answer was not taken */
  draw(refusal: string | undefined): string;
  /** @returns whether the key answers the question, as Enter does in any case */
  press(typed: string | undefined, key: Key): boolean;
  /** The answer as it stays on the screen. */
  answer(): string;
  /** Why Enter cannot be taken, if it cannot. */
  refuse?(): string | undefined;
}

/**
 * Shows a view until it is answered.
 *
 * @throws {Failure} `INTERRUPTED`
 */
export async function runView(view: View, screen: Screen): Promise<void> {
  await runPrompt<void>(screen, (streams) => {
    const prompt = new Prompt<void>({
      ...streams,
      validate: () => view.refuse?.(),
      render(): string {
        const { state, error } = this;
        if (isOver(state)) return answerLine(view.label, view.answer(), state, screen.style);
        return view.draw(state === "error" ? error : undefined);
      },
    }, false);
    prompt.on("key", (typed, key) => {
      if (view.press(typed, key)) prompt.state = "submit";
    });
    return prompt;
  });
}

/** The first line of a prompt, as long as it is not answered. */
export function questionLine(label: string, rest: string, { bold, cyan, symbols }: Style): string {
  return `${cyan(symbols.question)} ${bold(titled(label))} ${rest}`.trimEnd();
}

/** What stays of a prompt on the screen: the question and what was answered, or that it was not. */
export function answerLine(label: string, answer: string, state: string, style: Style): string {
  const { bold, dim, green, red, cyan, symbols } = style;
  return state === "cancel"
    ? `${red(symbols.problem)} ${bold(titled(label))} ${dim("cancelled")}`
    : `${green(symbols.done)} ${bold(titled(label))} ${cyan(answer)}`.trimEnd();
}

function titled(label: string): string {
  return /[.?]$/.test(label) ? label : `${label}:`;
}

/** Whether a prompt is over, and its last frame is drawn. */
export function isOver(state: string): boolean {
  return state === "submit" || state === "cancel";
}

/** What is wrong with the answer, in as many lines as it takes. */
export function problemLines(message: string, { style: { symbols, yellow }, terminal }: Screen): readonly string[] {
  const start = `  ${symbols.problem} `;
  return linesOf(message, terminal.size().columns - start.length - 1)
    .map((line, index) => yellow(`${index === 0 ? start : " ".repeat(start.length)}${line}`));
}

/** What a check says of an answer, if it does not take it. */
export function refusalOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
}
