/** The prompt for the key that a subcommand works on. */
import { Failure } from "../../../../apikey/failure.ts";
import type { ApiKey, Client } from "../../../../client/client.ts";
import type { Dialog, Question } from "../../../host/dialog.ts";
import { runSteps } from "../../../prompts/steps.ts";
import { readMarkedKeys } from "../lockout.ts";
import { describeKeys, listItems } from "./key_details.ts";
import { confirmSelection, openDialog } from "./open_dialog.ts";

/**
 * Prompts the user to select one key from a list. If there is a question, also asks for confirmation.
 *
 * @throws {Failure} `NOT_FOUND` if there are no keys; `INTERRUPTED` if the user cancels or does not confirm; any failure
 * of the client
 */
export async function promptForOneKey(
  label: string,
  client: Client,
  dialog: Dialog,
  question?: Question,
): Promise<ApiKey> {
  const now = dialog.host.now();
  const { keys, marks } = await readMarkedKeys(client, now);
  if (keys.length === 0) {
    throw new Failure("NOT_FOUND", `There are no API keys. Searched ${dialog.target.description}.`);
  }
  const prompts = await openDialog(dialog);
  const items = listItems(keys, marks, now);
  let selected: ApiKey | undefined;
  await runSteps([
    async () => {
      selected = await prompts.searchOne({ label, items, initial: selected });
    },
    async () => {
      if (question === undefined || selected === undefined) return;
      await describeKeys([selected], marks, dialog);
      await confirmSelection(question, prompts);
    },
  ]);
  if (selected === undefined) throw new TypeError("promptForOneKey needs at least one key");
  return selected;
}
