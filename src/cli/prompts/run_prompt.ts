/** Runs one prompt at a terminal: reads keys, draws frames, and restores the terminal in every case. */
import { isCancel, Prompt, settings } from "@clack/core";
import type { Key } from "node:readline";
import { Failure, NOTHING_CHANGED } from "../../apikey/failure.ts";
import type { Host, Terminal } from "../host/host.ts";
import type { Style } from "../terminal/style.ts";
import { wrapText } from "../terminal/text_width.ts";
import { openCanvas } from "./canvas.ts";
import { joinCharacters } from "./join_characters.ts";
import { keyHelpLines } from "./key_help.ts";
import { GoBack } from "./options.ts";
import { transcriptOf } from "./transcript.ts";

/** Where and how prompts are drawn. */
export interface Screen {
  readonly host: Host;
  readonly terminal: Terminal;
  readonly style: Style;
  /** Once aborted, every later prompt is cancelled at once. */
  readonly interrupted: AbortSignal | undefined;
}

/** What the kinds of prompts have in common. */
interface Question {
  readonly label: string;
  readonly canGoBack?: boolean;
  /** The answer in the line that stays on the screen after the prompt. */
  answer(): string;
  /** Receives the unfinished answer when the user goes back. */
  saveDraft?(): void;
}

/** A prompt as {@linkcode runPrompt} needs it. */
export interface PromptFrame<ClackPrompt> extends Question {
  draw(prompt: ClackPrompt): string;
  /** Handles Escape. Returns `false` if Escape has nothing to close in the prompt. */
  handleEscape?(): boolean;
  /** Whether the key goes back, besides Escape and Shift-Tab. */
  isBackKey?(key: Key, prompt: ClackPrompt): boolean;
}

/** The constructor options that every clack prompt needs. */
export interface ClackOptions {
  readonly input: Terminal["input"];
  readonly output: Terminal["output"];
  readonly signal: AbortSignal;
  /** Draws nothing, because {@linkcode Canvas} draws. */
  render(): string;
}

// clack would cancel the prompt on Escape. Here, Escape may also clear a filter or go back.
settings.aliases.delete("escape");

/** Moves the cursor to the line above. */
const CURSOR_UP = "\x1b[1A";

/**
 * Shows a prompt until the user answers it. Draws it once for all keys that arrive together, when the size of the window
 * changes, and when the user continues the suspended program.
 *
 * @throws {Failure} `INTERRUPTED` on Ctrl-C, SIGINT or SIGTERM, at the end of the input, on Ctrl-D unless a text prompt
 * contains text, and on Escape if it does nothing else
 * @throws {GoBack} if `canGoBack` is set and the user goes back
 */
export async function runPrompt<Value, ClackPrompt extends Prompt<Value>>(
  frame: PromptFrame<ClackPrompt>,
  { host, terminal, style, interrupted }: Screen,
  createPrompt: (options: ClackOptions) => ClackPrompt,
): Promise<Value | undefined> {
  const { input, output } = terminal;
  const cancellation = new AbortController();
  const canvas = openCanvas(terminal);
  const transcript = transcriptOf(terminal);
  const prompt = createPrompt({ input, output, signal: cancellation.signal, render: () => "" });
  let goesBack = false;
  let isDrawDue = false;

  const isOpen = (): boolean => prompt.state !== "submit" && prompt.state !== "cancel";
  const draw = (): void => {
    isDrawDue = false;
    if (isOpen()) canvas.draw(frame.draw(prompt));
  };
  const drawAgain = (): void => {
    if (isOpen()) canvas.drawAgain(transcript.lines(), frame.draw(prompt));
  };
  const finish = (): void => {
    const line = goesBack ? "" : answerLine(frame.label, prompt.state === "submit" ? frame.answer() : undefined, style);
    canvas.finish(line);
    if (!goesBack) transcript.add(`${line}\n`);
  };
  const cancel = (): void => {
    if (!isOpen()) return;
    prompt.state = "cancel";
    finish();
    cancellation.abort();
  };
  prompt.on("key", (_typed, key) => {
    const { ctrl, name, shift } = key;
    const leaves = name === "escape" && !frame.handleEscape?.();
    goesBack = frame.canGoBack === true &&
      (leaves || (shift === true && name === "tab") || frame.isBackKey?.(key, prompt) === true);
    // On Ctrl-D, `node:readline` stops reading, but clack does not cancel the prompt. So cancel it here.
    const isEnd = ctrl === true && name === "d" && prompt.userInput === "";
    if (goesBack || leaves || isEnd) prompt.state = "cancel";
    if (!isDrawDue) queueMicrotask(draw);
    isDrawDue = true;
  });
  prompt.on("finalize", finish);

  const restore = host.onSignal(["SIGINT", "SIGTERM"], cancel);
  input.once("end", cancel);
  output.on("resize", draw);
  output.on("continue", drawAgain);
  if (input.readableEnded || interrupted?.aborted) cancellation.abort();
  const answered = prompt.prompt();
  const stopJoining = joinCharacters(input, () => !isOpen());
  draw();
  try {
    const answer = await answered;
    if (!isCancel(answer)) return answer;
  } finally {
    stopJoining();
    output.off("resize", draw);
    output.off("continue", drawAgain);
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
export interface View extends Question {
  /** @param footer what the keys do, or why the last Enter was rejected */
  draw(footer: readonly string[]): string;
  /** What the keys do, for example `space to select`; the most important first. */
  keys?(): readonly string[];
  /** @returns whether the key answers the prompt, as Enter does */
  handleKey(typed: string | undefined, key: Key): boolean;
  /** Clears the filter. Returns `false` if the prompt has none. */
  clearFilter?(): boolean;
  /** Returns a message if the prompt cannot accept Enter now. */
  validate?(): string | undefined;
}

/**
 * Shows a view until the user answers it. `?` shows all keys of the view, or hides them again.
 *
 * @throws {Failure} `INTERRUPTED`
 * @throws {GoBack}
 */
export async function runView(view: View, screen: Screen): Promise<void> {
  let showsAllKeys = false;
  const frame: PromptFrame<Prompt<void>> = {
    ...view,
    draw: ({ state, error }) => {
      if (state === "error") return view.draw(errorLines(error, screen));
      const footer = view.keys === undefined ? [] : keyHelpLines(view.keys(), showsAllKeys, screen);
      const lines = view.draw(footer).split("\n");
      // In a low window, all keys take the place of the rest of the view.
      const fits = !showsAllKeys || lines.length < screen.terminal.size().rows;
      return (fits ? lines : [...lines.slice(0, 1), ...footer]).join("\n");
    },
    handleEscape: () => {
      const wasShown = showsAllKeys;
      showsAllKeys = false;
      return wasShown || view.clearFilter?.() === true;
    },
  };
  await runPrompt<void, Prompt<void>>(frame, screen, (options) => {
    const prompt = new Prompt<void>({ ...options, validate: () => view.validate?.() }, false);
    prompt.on("key", (typed, key) => {
      if (typed === "?" && view.keys !== undefined) showsAllKeys = !showsAllKeys;
      else if (view.handleKey(typed, key)) prompt.state = "submit";
    });
    return prompt;
  });
}

/** The first line of an open prompt. */
export function promptLine(label: string, rest: string, { bold, cyan, symbols }: Style): string {
  return `${cyan(symbols.question)} ${bold(punctuate(label))} ${rest}`.trimEnd();
}

/** The line that stays on the screen after a prompt: the label, and the answer or `cancelled`. */
function answerLine(label: string, answer: string | undefined, style: Style): string {
  const { bold, dim, green, red, cyan, symbols } = style;
  return answer === undefined
    ? `${red(symbols.error)} ${bold(punctuate(label))} ${dim("cancelled")}`
    : `${green(symbols.success)} ${bold(punctuate(label))} ${cyan(answer)}`.trimEnd();
}

/** A label with a colon, unless it is a sentence or a question. */
export function punctuate(label: string): string {
  return /[.?]$/.test(label) ? label : `${label}:`;
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
