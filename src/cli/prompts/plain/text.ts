/** Asks for a line of text or a secret, in plain lines. */
import { quote } from "../../../apikey/failure.ts";
import type { TextOptions } from "../options.ts";
import { failureMessage, type Screen } from "../run_prompt.ts";
import { ask, type Question } from "./line.ts";

/** What the user types in place of a text to leave it empty. Enter keeps the text. */
const EMPTY = "-";

/** @throws {Failure} `INTERRUPTED` */
export async function askForText(options: TextOptions, screen: Screen): Promise<string> {
  const { initial = "", check = () => {} } = options;
  const canBeEmpty = initial !== "" && failureMessage(() => check("")) === undefined;
  const keep = `Enter keeps ${quote(initial)}${canBeEmpty ? `, ${EMPTY} removes it` : ""}`;
  const replace = (answer: string): string => canBeEmpty && answer.trim() === EMPTY ? "" : answer;
  return await ask(textQuestion(options, initial === "" ? [] : [keep], replace), screen);
}

/**
 * Asks for a text that the terminal does not show.
 *
 * @throws {Failure} `INTERRUPTED`
 */
export async function askForSecret(options: TextOptions, screen: Screen): Promise<string> {
  const hints = ["not shown while you type", ...(options.initial ? ["Enter keeps what you typed before"] : [])];
  return await ask({ ...textQuestion(options, hints, (answer) => answer), isSecret: true }, screen);
}

function textQuestion(
  { label, hint, initial = "", check = () => {}, canGoBack }: TextOptions,
  hints: readonly string[],
  replace: (answer: string) => string,
): Question<string> {
  return {
    label,
    hints: [...(hint === undefined ? [] : [hint]), ...hints],
    canGoBack,
    read: (answer) => {
      const value = answer === "" ? initial : replace(answer);
      const error = failureMessage(() => check(value));
      return error === undefined ? { value } : { again: error };
    },
  };
}
