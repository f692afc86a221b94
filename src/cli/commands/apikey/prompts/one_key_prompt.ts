/** The prompt for the key that a subcommand works on. */
import { Failure } from "../../../../apikey/failure.ts";
import type { ApiKey, Client } from "../../../../client/client.ts";
import type { Dialog } from "../../../host/dialog.ts";
import type { Prompts } from "../../../prompts/prompts.ts";
import { runSteps, type Step } from "../../../prompts/steps.ts";
import { readMarkedKeys } from "../lockout.ts";
import { listItems, type Marks } from "./key_details.ts";
import { openDialog } from "./open_dialog.ts";

/**
 * Prompts the user to select one key from a list.
 *
 * @param followUp returns the questions that follow, from which the user can go back to the list
 * @throws {Failure} `NOT_FOUND` if there are no keys; `INTERRUPTED` if the user cancels; any failure of the client
 */
export async function promptForOneKey(
  label: string,
  client: Client,
  dialog: Dialog,
  followUp: (selected: () => ApiKey, marks: Marks, prompts: Prompts) => readonly Step[] = () => [],
): Promise<ApiKey> {
  const now = dialog.host.now();
  const { keys: [first, ...others], marks } = await readMarkedKeys(client, now);
  if (first === undefined) {
    throw new Failure("NOT_FOUND", `There are no API keys. Searched ${dialog.target.description}.`);
  }
  const prompts = await openDialog(dialog);
  const items = listItems([first, ...others], marks, now);
  let selected = first;
  await runSteps([
    async (canGoBack) => {
      selected = await prompts.searchOne({ label, items, initial: selected, canGoBack });
    },
    ...followUp(() => selected, marks, prompts),
  ], { host: dialog.host, canGoBack: dialog.target.canGoBack });
  return selected;
}
