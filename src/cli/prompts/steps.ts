/** Asks a sequence of questions in which the user can go back. */
import { GoBack } from "./options.ts";

/**
 * Asks one question and keeps the answer.
 *
 * @param canGoBack whether an earlier step has asked a question; pass it to the prompt
 * @returns `false` if the step had nothing to ask; going back then skips it
 * @throws {GoBack} if the user goes back
 */
export type Step = (canGoBack: boolean) => Promise<boolean | void>;

/**
 * Runs the steps in their order. If the user goes back, continues with the last step before it that asked a question.
 *
 * @throws what a step throws, except {@linkcode GoBack}
 */
export async function runSteps(steps: readonly Step[]): Promise<void> {
  /** The steps before `index` that asked a question, by their index. */
  const asked: number[] = [];
  let index = 0;
  for (let step = steps[index]; step !== undefined; step = steps[index]) {
    try {
      // deno-lint-ignore no-await-in-loop -- one question at a time
      if (await step(asked.length > 0) !== false) asked.push(index);
      index++;
    } catch (error) {
      if (!(error instanceof GoBack)) throw error;
      index = asked.pop() ?? index;
    }
  }
}
