/** Asks a sequence of questions in which the user can go back. */
import type { Host } from "../host/host.ts";
import { isPlain } from "../terminal/style.ts";
import { GoBack } from "./options.ts";
import { transcriptOf } from "./transcript.ts";

/**
 * Asks one question and keeps the answer.
 *
 * @param canGoBack whether the user can go back from this question; pass it to the prompt
 * @returns `false` if the step had nothing to ask; going back then skips it
 * @throws {GoBack} if the user goes back
 */
export type Step = (canGoBack: boolean) => Promise<boolean | void>;

export interface StepsOptions {
  /** Where the questions appear. If it is given, going back erases from the screen what came after the step. */
  readonly host?: Host;
  /** Whether the user can go back from the first question. */
  readonly canGoBack?: boolean | undefined;
}

/**
 * Runs the steps in their order. If the user goes back, continues with the last step before it that asked a question.
 *
 * @throws {GoBack} if `canGoBack` is set and the user goes back from the first question
 * @throws what a step throws
 */
export async function runSteps(
  steps: readonly Step[],
  { host, canGoBack = false }: StepsOptions = {},
): Promise<void> {
  const transcript = host === undefined || isPlain(host) ? undefined : transcriptOf(await host.openTerminal());
  /** The steps before `index` that asked a question, and what erases from the screen everything since their start. */
  const asked: { readonly index: number; readonly erase: () => void }[] = [];
  let index = 0;
  for (let step = steps[index]; step !== undefined; step = steps[index]) {
    const erase = transcript?.mark() ?? (() => {});
    try {
      // deno-lint-ignore no-await-in-loop -- one question at a time
      if (await step(canGoBack || asked.length > 0) !== false) asked.push({ index, erase });
      index++;
    } catch (error) {
      if (!(error instanceof GoBack) || (canGoBack && asked.length === 0)) throw error;
      const before = asked.pop() ?? { index, erase };
      before.erase();
      index = before.index;
    }
  }
}
