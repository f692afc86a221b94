/** The yes/no prompt. */
import type { ConfirmOptions } from "./options.ts";
import { promptLine, runView, type Screen } from "./run_prompt.ts";

/**
 * Asks for yes or no. The keys `y` and `n` answer at once. Enter gives the answer `initial`. Discards keys that the
 * user pressed before the prompt appeared.
 *
 * @throws {Failure} `INTERRUPTED`
 */
export async function confirm({ label, initial }: ConfirmOptions, screen: Screen): Promise<boolean> {
  const { style, terminal: { input } } = screen;
  while (input.read() !== null);
  let isConfirmed = initial;
  await runView({
    label,
    draw: () => promptLine(label, style.dim(initial ? "(Y/n)" : "(y/N)"), style),
    answer: () => isConfirmed ? "yes" : "no",
    handleKey: (typed) => {
      const letter = typed?.toLowerCase();
      if (letter !== "y" && letter !== "n") return false;
      isConfirmed = letter === "y";
      return true;
    },
  }, screen);
  return isConfirmed;
}
