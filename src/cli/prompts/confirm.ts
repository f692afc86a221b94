/** The yes/no prompt. */
import { wrapText } from "../terminal/text_width.ts";
import type { ConfirmOptions, Decision } from "./options.ts";
import { promptLine, runView, type Screen } from "./run_prompt.ts";

/** `confirm` of the prompts. With `canEdit`, it returns more than yes or no. */
export interface Confirm {
  (options: ConfirmOptions & { readonly canEdit: true }): Promise<Decision>;
  (options: ConfirmOptions & { readonly canEdit?: false }): Promise<boolean>;
}

/** Makes {@linkcode Confirm} from a function that asks. */
export function confirmWith(decide: (options: ConfirmOptions) => Promise<Decision>): Confirm {
  function confirm(options: ConfirmOptions & { readonly canEdit: true }): Promise<Decision>;
  function confirm(options: ConfirmOptions & { readonly canEdit?: false }): Promise<boolean>;
  async function confirm(options: ConfirmOptions): Promise<Decision | boolean> {
    const decision = await decide(options);
    return options.canEdit ? decision : decision === "yes";
  }
  return confirm;
}

/** A pasted word arrives as one key. */
const DECISIONS: ReadonlyMap<string | undefined, Decision> = new Map([
  ["y", "yes"],
  ["yes", "yes"],
  ["n", "no"],
  ["no", "no"],
  ["e", "edit"],
  ["edit", "edit"],
]);

/**
 * Asks for yes or no or, with `canEdit`, whether to change an answer. The keys `y`, `n` and `e` answer at once. Enter
 * gives the answer `initial`. Discards keys that the user pressed before the prompt appeared.
 *
 * @throws {Failure} `INTERRUPTED`
 * @throws {GoBack}
 */
export async function decide(
  { label, hint = "", initial, canEdit = false, canGoBack = false }: ConfirmOptions,
  screen: Screen,
): Promise<Decision> {
  const { style, terminal } = screen;
  const { input } = terminal;
  while (input.read() !== null);
  const keys = `${initial ? "Y/n" : "y/N"}${canEdit ? "/e" : ""}`;
  let decision: Decision = initial ? "yes" : "no";
  await runView({
    label,
    canGoBack,
    draw: (footer) => {
      const hintLines = hint === ""
        ? []
        : wrapText(hint, terminal.size().columns - 2).map((line) => `  ${style.dim(line)}`);
      return [promptLine(label, style.dim(`(${keys})`), style), ...hintLines, ...footer].join("\n");
    },
    keys: () => [
      ...(canEdit ? ["e to change an answer"] : []),
      "y for yes",
      "n for no",
      ...(canGoBack ? ["esc to go back"] : []),
      `enter for ${initial ? "yes" : "no"}`,
    ],
    answer: () => decision,
    handleKey: (typed) => {
      const pressed = DECISIONS.get(typed?.toLowerCase());
      if (pressed === undefined || (pressed === "edit" && !canEdit)) return false;
      decision = pressed;
      return true;
    },
  }, screen);
  return decision;
}
