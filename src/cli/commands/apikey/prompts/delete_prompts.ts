/** The prompts of `apikey --delete`. */
import { quote } from "../../../../apikey/failure.ts";
import type { ApiKey } from "../../../../client/client.ts";
import type { PromptFlags } from "../../../host/can_prompt.ts";
import type { Dialog } from "../../../host/dialog.ts";
import { runSteps } from "../../../prompts/steps.ts";
import { describeKeys, listItems, type Marks } from "./key_details.ts";
import { confirmSelection, openDialog } from "./open_dialog.ts";
import { Failure } from "../../../../apikey/failure.ts";

/** How a list shows keys. */
export interface KeyListOptions {
  /** The keys whose deletion can lock the user out. */
  readonly marks: Marks;
  /** What to say about a key in the list, by its id. By default, its mark. */
  readonly notes?: Marks;
  /** Whether every key is selected when the list appears. */
  readonly isSelected: boolean;
}

const UNCHANGED = "Nothing was deleted.";

/**
 * Prompts the user to select keys from a list. Without `--yes`, asks for confirmation.
 *
 * @returns the selected keys; not empty
 * @throws {Failure} `INTERRUPTED` if the user cancels or does not confirm
 */
export async function promptForKeys<Key extends ApiKey>(
  keys: readonly Key[],
  { marks, notes = marks, isSelected }: KeyListOptions,
  flags: PromptFlags,
  dialog: Dialog,
): Promise<readonly Key[]> {
  const prompts = await openDialog(dialog);
  const items = listItems(keys, notes, dialog.host.now());
  let selected = isSelected ? keys : [];
  await runSteps([
    async (canGoBack) => {
      selected = await prompts.select({
        label: "Keys to delete",
        items,
        initial: selected,
        isRequired: true,
        canGoBack,
      });
    },
    async () => {
      if (flags.yes) return;
      await describeKeys(selected, marks, dialog);
      const label = labelFor(selected);
      await confirmSelection({ label, alternative: "Change the selection", unchanged: UNCHANGED }, prompts);
    },
  ], { host: dialog.host, canGoBack: dialog.target.canGoBack });
  return selected;
}

/**
 * Asks for confirmation to delete keys that the command line names, unless `--yes` is given.
 *
 * @param keys not empty
 * @throws {Failure} `INTERRUPTED` if the user cancels or does not confirm
 */
export async function confirmDeletion(
  keys: readonly ApiKey[],
  marks: Marks,
  flags: PromptFlags,
  dialog: Dialog,
): Promise<void> {
  if (flags.yes) return;
  const prompts = await openDialog(dialog);
  await describeKeys(keys, marks, dialog);
  const { canGoBack = false } = dialog.target;
  const isConfirmed = await prompts.confirm({ label: labelFor(keys), initial: false, canGoBack });
  if (!isConfirmed) throw new Failure("INTERRUPTED", UNCHANGED);
}

function labelFor(keys: readonly ApiKey[]): string {
  return keys.length === 1
    ? `Delete the key ${quote(keys[0]?.name ?? "")}? Its secret stops working immediately.`
    : `Delete ${keys.length} keys? Their secrets stop working immediately.`;
}
