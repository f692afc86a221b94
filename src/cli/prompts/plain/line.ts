/**
 * Questions as plain lines, for terminals that cannot move the cursor and for screen readers. The program writes a line,
 * and the terminal itself shows and edits the answer.
 */
import { Failure, NOTHING_CHANGED } from "../../../apikey/failure.ts";
import { wrapMessage, wrapText } from "../../terminal/text_width.ts";
import { GoBack } from "../options.ts";
import { punctuate, type Screen } from "../run_prompt.ts";

/** What the user types to go back to the question before. */
const BACK = "<";

export interface Question<Value> {
  readonly label: string;
  /** What the user can type, as parts of a sentence. */
  readonly hints: readonly string[];
  /** Comes after the label, for example `(y/N)`. */
  readonly choices?: string;
  readonly canGoBack?: boolean | undefined;
  /** Whether the terminal hides what the user types. */
  readonly isSecret?: boolean;
  /** Turns the answer into a value, or into the text to show before asking again. */
  readonly read: (answer: string) => Reply<Value>;
}

export type Reply<Value> = { readonly value: Value } | { readonly again: string };

/**
 * Asks until the answer is valid. The first question says in brackets what the user can type.
 *
 * @throws {GoBack} if the user types `<` and `canGoBack` is true
 * @throws {Failure} `INTERRUPTED` on Ctrl-C, SIGINT or SIGTERM, and at the end of the input
 */
export async function ask<Value>(question: Question<Value>, screen: Screen): Promise<Value> {
  const { canGoBack = false, isSecret = false, read } = question;
  let prompt = formatQuestion(question, [...question.hints, ...(canGoBack ? [`${BACK} goes back`] : [])]);
  for (;;) {
    // deno-lint-ignore no-await-in-loop -- asks again if the answer is not valid
    const answer = await (isSecret ? readSecretLine : readLine)(wrap(prompt, screen), screen);
    if (canGoBack && answer.trim() === BACK) throw new GoBack();
    const reply = read(answer);
    if ("value" in reply) return reply.value;
    // deno-lint-ignore no-await-in-loop -- says what is wrong before asking again
    await writeLines(reply.again, screen);
    prompt = formatQuestion(question, []);
  }
}

/** For example `Sure? (y/N) [< goes back] `. */
function formatQuestion(
  { label, choices }: Pick<Question<unknown>, "label" | "choices">,
  hints: readonly string[],
): string {
  const hint = hints.length === 0 ? "" : ` [${hints.join("; ")}]`;
  return choices === undefined ? `${punctuate(`${label}${hint}`)} ` : `${punctuate(label)} ${choices}${hint} `;
}

function wrap(question: string, { host: { stderr } }: Screen): string {
  return `${wrapMessage(question.trimEnd(), stderr.columns() - 1).join("\n")} `;
}

/** Writes text, each line wrapped to the width of the terminal. Lines that continue an indented line are indented too. */
export async function writeLines(text: string, { host: { stderr } }: Screen): Promise<void> {
  const lines = text.split("\n").flatMap((line) => {
    const [indentation = ""] = /^ */.exec(line) ?? [];
    const room = stderr.columns() - 1 - indentation.length;
    return wrapText(line.trimStart(), room).map((part) => `${indentation}${part}\n`);
  });
  await stderr.write(lines.join(""));
}

async function readLine(prompt: string, screen: Screen): Promise<string> {
  const { stderr } = screen.host;
  await stderr.write(prompt);
  try {
    return await readToEnter(screen);
  } catch (error) {
    // Nothing has ended the line of the prompt.
    await stderr.write("\n");
    throw error;
  }
}

/** Control sequences, which arrow keys and other special keys send. */
// deno-lint-ignore no-control-regex -- the escape character starts these sequences
const CONTROL_SEQUENCES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|O.)/g;

/** Reads a line that the terminal does not show. Backspace deletes a character, and Ctrl-U deletes everything. */
async function readSecretLine(prompt: string, screen: Screen): Promise<string> {
  const { host: { stderr }, terminal } = screen;
  terminal.setEcho(false);
  try {
    await stderr.write(prompt);
    const keys = (await readToEnter(screen)).replaceAll(CONTROL_SEQUENCES, "");
    const typed: string[] = [];
    for (const key of keys) {
      if (key === "\x7f" || key === "\b") typed.pop();
      else if (key === "\x15") typed.length = 0;
      else typed.push(key);
    }
    return typed.join("");
  } finally {
    terminal.setEcho(true);
    await stderr.write("\n");
  }
}

/** Ends a line, or cancels the prompt: Ctrl-C and Ctrl-D are keys only while the terminal does not show the input. */
// deno-lint-ignore no-control-regex -- a terminal sends these characters for these keys
const LAST_KEY = /[\r\x03\x04]/;

/** Reads the input up to the next Enter. Leaves the rest for the next prompt. */
async function readToEnter({ host, terminal: { input }, interrupted }: Screen): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const cancel = (): void => reject(new Failure("INTERRUPTED", NOTHING_CHANGED));
  const decoder = new TextDecoder();
  let text = "";
  const take = (): void => {
    for (let chunk = input.read(); chunk !== null; chunk = input.read()) {
      text += decoder.decode(chunk, { stream: true });
      const end = text.search(LAST_KEY);
      if (end === -1) continue;
      const rest = new TextEncoder().encode(text.slice(end + 1));
      if (rest.length > 0) input.unshift(rest);
      return text.charAt(end) === "\r" ? resolve(text.slice(0, end)) : cancel();
    }
  };
  const restore = host.onSignal(["SIGINT", "SIGTERM"], cancel);
  input.on("readable", take);
  input.once("end", cancel);
  if (input.readableEnded || interrupted?.aborted) cancel();
  else take();
  try {
    return await promise;
  } finally {
    input.off("readable", take);
    input.off("end", cancel);
    restore();
  }
}
