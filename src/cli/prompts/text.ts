/** The prompts for a line of text and for a secret. */
import { TextPrompt } from "@clack/core";
import { escapeInvisible } from "../../apikey/failure.ts";
import { truncate } from "../terminal/text_width.ts";
import type { TextOptions } from "./options.ts";
import {
  answerLine,
  errorLines,
  failureMessage,
  isFinished,
  promptLine,
  runPrompt,
  type Screen,
} from "./run_prompt.ts";

/** How much text is drawn on each side of the cursor, in UTF-16 code units. More would slow down typing. */
const MAX_SHOWN = 200;

/** @throws {Failure} `INTERRUPTED` */
export async function promptForText(options: TextOptions, screen: Screen): Promise<string> {
  return await promptForLine(options, screen, escapeInvisible);
}

/**
 * Asks for a text that the screen never shows, not even its length.
 *
 * @throws {Failure} `INTERRUPTED`
 */
export async function promptForSecret(options: TextOptions, screen: Screen): Promise<string> {
  return await promptForLine(options, screen, (typed) => typed === "" ? "" : "(not shown)");
}

async function promptForLine(
  { label, hint, initial, check = () => {} }: TextOptions,
  screen: Screen,
  show: (typed: string) => string,
): Promise<string> {
  const { style } = screen;
  const { ellipsis } = style.symbols;
  const validate = (typed: string): string | undefined => failureMessage(() => check(typed));
  const answer = await runPrompt(screen, (streams) =>
    new TextPrompt({
      ...streams,
      ...(initial === undefined ? {} : { initialValue: initial }),
      validate: (typed = "") => validate(typed),
      render(): string {
        const { state, userInput: typed, cursor } = this;
        if (isFinished(state)) {
          return answerLine(label, truncate(show(typed.trim()), MAX_SHOWN, ellipsis), state, style);
        }
        const before = typed.slice(0, cursor);
        const text = [
          before.length > MAX_SHOWN ? `${ellipsis}${show(before.slice(-MAX_SHOWN))}` : show(before),
          style.symbols.cursor,
          truncate(show(typed.slice(cursor, cursor + MAX_SHOWN)), MAX_SHOWN, ellipsis),
        ].join("");
        const error = typed !== "" || state === "error" ? validate(typed) : undefined;
        const hints = hint === undefined ? [] : [`  ${style.dim(hint)}`];
        const below = error === undefined ? hints : errorLines(error, screen);
        return [promptLine(label, text, style), ...below].join("\n");
      },
    }));
  return answer ?? "";
}
