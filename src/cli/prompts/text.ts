/** The prompts for a line of text and for a secret. */
import { TextPrompt } from "@clack/core";
import { escapeInvisible } from "../../apikey/failure.ts";
import { truncate } from "../terminal/text_width.ts";
import type { TextOptions } from "./options.ts";
import { errorLines, failureMessage, type Frame, promptLine, runPrompt, type Screen } from "./run_prompt.ts";

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
  { label, hint, initial, check = () => {}, checksOnEnter = false, canGoBack = false, saveDraft }: TextOptions,
  screen: Screen,
  show: (typed: string) => string,
): Promise<string> {
  const { style } = screen;
  const { ellipsis } = style.symbols;
  const validate = (typed: string): string | undefined => failureMessage(() => check(typed));
  let text = initial ?? "";
  let cursor = 0;
  const frame: Frame = {
    label,
    canGoBack,
    answer: () => truncate(show(text.trim()), MAX_SHOWN, ellipsis),
    isBackKey: ({ name }) => {
      if (name !== "up") return false;
      const isAtStart = cursor === 0;
      if (!isAtStart) screen.terminal.input.emit("keypress", undefined, { name: "home" });
      return isAtStart;
    },
    saveDraft: () => saveDraft?.(text),
  };
  const answer = await runPrompt(frame, screen, (streams, lastFrame) => {
    const prompt = new TextPrompt({
      ...streams,
      ...(initial === undefined ? {} : { initialValue: initial }),
      validate: (typed = "") => validate(typed),
      render(): string {
        const { state, error: rejection, userInput: typed, cursor } = this;
        const last = lastFrame(state);
        if (last !== undefined) return last;
        const before = typed.slice(0, cursor);
        const shown = [
          before.length > MAX_SHOWN ? `${ellipsis}${show(before.slice(-MAX_SHOWN))}` : show(before),
          style.symbols.cursor,
          truncate(show(typed.slice(cursor, cursor + MAX_SHOWN)), MAX_SHOWN, ellipsis),
        ].join("");
        const isChecked = typed !== "" && !checksOnEnter;
        const error = state === "error" ? rejection : isChecked ? validate(typed) : undefined;
        const hints = hint === undefined ? [] : [`  ${style.dim(hint)}`];
        const below = error === undefined ? hints : errorLines(error, screen);
        return [promptLine(label, shown, style), ...below].join("\n");
      },
    });
    prompt.on("key", () => {
      text = prompt.userInput;
      cursor = prompt.cursor;
    });
    return prompt;
  });
  return answer ?? "";
}
