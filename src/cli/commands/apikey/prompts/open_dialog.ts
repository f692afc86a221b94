/** Opens the prompts of the `apikey` commands, which show the server or store that the answers apply to. */
import { Failure } from "../../../../apikey/failure.ts";
import type { Dialog, Question } from "../../../host/dialog.ts";
import { GoBack } from "../../../prompts/options.ts";
import { openPrompts, type Prompts } from "../../../prompts/prompts.ts";
import { styleFor } from "../../../terminal/style.ts";
import { wrapMessage } from "../../../terminal/text_width.ts";

/** Opens the prompts. Before the first question of the command, shows the server or store. */
export async function openDialog({ host, interrupted, target }: Dialog): Promise<Prompts> {
  const prompts = await openPrompts(host, interrupted);
  if (!target.isShown) {
    target.isShown = true;
    const { dim } = styleFor(host.stderr, host);
    const lines = wrapMessage(`Using ${target.description}`, host.stderr.columns() - 1);
    await host.stderr.write(lines.map((line) => `${dim(line)}\n`).join(""));
  }
  return prompts;
}

/**
 * Asks for confirmation. If the user declines, asks whether to quit, so that no answer is lost. Going back from this
 * question is the alternative too.
 *
 * @param initial the answer if the user only presses Enter
 * @returns `false` if the user wants the alternative
 * @throws {GoBack} if `canGoBack` is true and the user goes back
 * @throws {Failure} `INTERRUPTED` if the user quits
 */
export async function confirmOrChange(
  { label, alternative, unchanged }: Question,
  initial: boolean,
  prompts: Prompts,
  canGoBack = false,
): Promise<boolean> {
  const decision = await prompts.confirm({ label, initial, canEdit: true, canGoBack });
  if (decision !== "no") return decision === "yes";
  try {
    const quits = await prompts.selectOne({
      label: `${unchanged} What do you want to do?`,
      items: [{ value: false, label: alternative }, { value: true, label: "Quit" }],
      initial: true,
      canGoBack: true,
    });
    if (quits) throw new Failure("INTERRUPTED", unchanged);
  } catch (error) {
    if (!(error instanceof GoBack)) throw error;
  }
  return false;
}

/**
 * Asks for confirmation of a selection, which is a step that the user can go back from.
 *
 * @throws {GoBack} if the user wants to change the selection
 * @throws {Failure} `INTERRUPTED` if the user quits
 */
export async function confirmSelection(question: Question, prompts: Prompts): Promise<void> {
  if (!await confirmOrChange(question, false, prompts, true)) throw new GoBack();
}
