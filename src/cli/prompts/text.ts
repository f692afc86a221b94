/** The prompts for a line of text and for a secret. */
import { TextPrompt } from "@clack/core";
import { escapeInvisible } from "../../apikey/failure.ts";
import { truncate, wrapText } from "../terminal/text_width.ts";
import type { TextOptions } from "./options.ts";
import { errorLines, failureMessage, type PromptFrame, promptLine, runPrompt, type Screen } from "./run_prompt.ts";

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
  {
    label,
    hint = "",
    emptyAnswer = "",
    initial,
    check = () => {},
    checksOnEnter = false,
    canGoBack = false,
    saveDraft,
  }: TextOptions,
  screen: Screen,
  show: (typed: string) => string,
): Promise<string> {
  const { style, terminal } = screen;
  const { ellipsis, separator, cursor: cursorSymbol } = style.symbols;
  const validate = (typed: string): string | undefined => failureMessage(() => check(typed));
  const hints = [[hint, ...(canGoBack ? ["esc to go back"] : [])].filter((text) => text !== "").join(separator), hint];
  let text = initial ?? "";
  const frame: PromptFrame<TextPrompt> = {
    label,
    canGoBack,
    answer: () => truncate(show(text.trim()), MAX_SHOWN, ellipsis) || emptyAnswer,
    saveDraft: () => saveDraft?.(text),
    isBackKey: ({ name }, { cursor }) => {
      if (name !== "up") return false;
      if (cursor > 0) terminal.input.emit("keypress", undefined, { name: "home" });
      return cursor === 0;
    },
    draw: ({ state, error: rejection, userInput: typed, cursor }) => {
      const before = typed.slice(0, cursor);
      const shown = [
        before.length > MAX_SHOWN ? `${ellipsis}${show(before.slice(-MAX_SHOWN))}` : show(before),
        cursorSymbol,
        truncate(show(typed.slice(cursor, cursor + MAX_SHOWN)), MAX_SHOWN, ellipsis),
      ].join("");
      const isChecked = typed !== "" && !checksOnEnter;
      const error = state === "error" ? rejection : isChecked ? validate(typed) : undefined;
      const room = terminal.size().columns - 3;
      const fitting = hints.find((text) => text.length <= room) ?? hint;
      const hintLines = fitting === "" ? [] : wrapText(fitting, room + 1).map((line) => `  ${style.dim(line)}`);
      const below = error === undefined ? hintLines : errorLines(error, screen);
      return [promptLine(label, shown, style), ...below].join("\n");
    },
  };
  const answer = await runPrompt<string, TextPrompt>(frame, screen, (options) => {
    const prompt = new TextPrompt({
      ...options,
      ...(initial === undefined ? {} : { initialValue: initial }),
      validate: (typed = "") => validate(typed),
    });
    prompt.on("key", () => {
      text = prompt.userInput;
    });
    return prompt;
  });
  return answer ?? "";
}
