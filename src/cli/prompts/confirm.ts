/** Asks for a yes or a no. */
import type { ConfirmQuestion } from "./question.ts";
import { questionLine, runView, type Screen } from "./run_prompt.ts";

/**
 * `y` and `n` answer at once, Enter with what `initial` says; keys that were pressed before count for nothing.
 *
 * @throws {Failure} `INTERRUPTED`
 */
export async function confirm({ label, initial }: ConfirmQuestion, screen: Screen): Promise<boolean> {
  const { style, terminal: { input } } = screen;
  // What was typed before the question was there is no answer to it.
  while (input.read() !== null);
  let yes = initial;
  await runView({
    label,
    draw: () => questionLine(label, style.dim(initial ? "(Y/n)" : "(y/N)"), style),
    answer: () => yes ? "yes" : "no",
    press: (typed) => {
      const letter = typed?.toLowerCase();
      if (letter !== "y" && letter !== "n") return false;
      yes = letter === "y";
      return true;
    },
  }, screen);
  return yes;
}
