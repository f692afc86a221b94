/** Asks for a line of text, shown or not. */
import { TextPrompt } from "@clack/core";
import { escapeInvisible } from "../../apikey/failure.ts";
import { cut } from "../terminal/text_width.ts";
import type { TextQuestion } from "./question.ts";
import { answerLine, isOver, problemLines, questionLine, refusalOf, runPrompt, type Screen } from "./run_prompt.ts";

/** How much of a long text is on the screen on each side of the cursor: drawing all of it takes long for each key. */
const MOST_SHOWN = 200;

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
  const { ellipsis } = style.symbols;
  const problemOf = (typed: string): string | undefined => refusalOf(() => check(typed));
  const answer = await runPrompt(screen, (streams) =>
    new TextPrompt({
      ...streams,
      ...(initial === undefined ? {} : { initialValue: initial }),
      validate: (typed = "") => problemOf(typed),
      render(): string {
        const { state, userInput: typed, cursor } = this;
        if (isOver(state)) return answerLine(label, cut(show(typed.trim()), MOST_SHOWN, ellipsis), state, style);
        const before = typed.slice(0, cursor);
        const shown = [
          before.length > MOST_SHOWN ? `${ellipsis}${show(before.slice(-MOST_SHOWN))}` : show(before),
          style.symbols.cursor,
          cut(show(typed.slice(cursor, cursor + MOST_SHOWN)), MOST_SHOWN, ellipsis),
        ].join("");
        const problem = typed !== "" || state === "error" ? problemOf(typed) : undefined;
        const hints = hint === undefined ? [] : [`  ${style.dim(hint)}`];
        const below = problem === undefined ? hints : problemLines(problem, screen);
        return [questionLine(label, shown, style), ...below].join("\n");
      },
    }));
  return answer ?? "";
}
