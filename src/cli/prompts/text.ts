/** Asks for a line of text, shown or not. */
import { TextPrompt } from "@clack/core";
import { escapeInvisible } from "../../apikey/failure.ts";
import type { TextQuestion } from "./questions.ts";
import { answerLine, isOver, problemLines, questionLine, refusalOf, runPrompt, type Screen } from "./run_prompt.ts";

/** @throws {Failure} `INTERRUPTED` */
export async function askText(question: TextQuestion, screen: Screen): Promise<string> {
  return await askLine(question, screen, escapeInvisible);
}

/**
 * Asks for what nobody may look at: not even how long it is can be seen.
 *
 * @throws {Failure} `INTERRUPTED`
 */
export async function askSecret(question: TextQuestion, screen: Screen): Promise<string> {
  return await askLine(question, screen, (typed) => typed === "" ? "" : "(not shown)");
}

async function askLine(
  { label, hint, initial, check = () => {} }: TextQuestion,
  screen: Screen,
  show: (typed: string) => string,
): Promise<string> {
  const { style } = screen;
  const problemOf = (typed: string): string | undefined => refusalOf(() => check(typed));
  const answer = await runPrompt(screen, (streams) =>
    new TextPrompt({
      ...streams,
      ...(initial === undefined ? {} : { initialValue: initial }),
      validate: (typed = "") => problemOf(typed),
      render(): string {
        const { state, userInput: typed, cursor } = this;
        if (isOver(state)) return answerLine(label, show(typed.trim()), state, style);
        const shown = `${show(typed.slice(0, cursor))}${style.symbols.cursor}${show(typed.slice(cursor))}`;
        const problem = typed !== "" || state === "error" ? problemOf(typed) : undefined;
        const hints = hint === undefined ? [] : [`  ${style.dim(hint)}`];
        const below = problem === undefined ? hints : problemLines(problem, screen);
        return [questionLine(label, shown, style), ...below].join("\n");
      },
    }));
  return answer ?? "";
}
