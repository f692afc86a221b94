/** Asks for yes or no, in plain lines. */
import type { ConfirmOptions, Decision } from "../options.ts";
import type { Screen } from "../run_prompt.ts";
import { ask } from "./line.ts";

const DECISIONS: readonly Decision[] = ["yes", "no", "edit"];

/**
 * Asks for yes or no or, with `canEdit`, whether to change an answer. Enter gives the answer `initial`. Discards lines
 * that the user typed before the question appeared.
 *
 * @throws {Failure} `INTERRUPTED`
 * @throws {GoBack}
 */
export async function askToConfirm(
  { label, hint, initial, canEdit = false, canGoBack }: ConfirmOptions,
  screen: Screen,
): Promise<Decision> {
  const { input } = screen.terminal;
  while (input.read() !== null);
  const decisions = DECISIONS.filter((decision) => canEdit || decision !== "edit");
  return await ask({
    label,
    hints: [...(hint === undefined ? [] : [hint]), ...(canEdit ? ["e changes an answer"] : [])],
    choices: `(${initial ? "Y/n" : "y/N"}${canEdit ? "/e" : ""})`,
    canGoBack,
    read: (answer) => {
      const typed = answer.trim().toLowerCase();
      if (typed === "") return { value: initial ? "yes" : "no" };
      const value = decisions.find((decision) => decision === typed || decision.charAt(0) === typed);
      return value === undefined ? { again: canEdit ? "Type y, n or e." : "Type y or n." } : { value };
    },
  }, screen);
}
