/** The prompt for the key that a subcommand works on. */
import { escapeInvisible } from "../../../../apikey/failure.ts";
import type { KeySummary } from "../../../../client/client.ts";
import type { Host } from "../../../host/host.ts";
import { openPrompts } from "../../../prompts/prompts.ts";

/**
 * Prompts the user to select one key from a list.
 *
 * @param keys not empty
 * @throws {Failure} `INTERRUPTED` if the user cancels
 */
export async function promptForOneKey(
  label: string,
  keys: readonly KeySummary[],
  host: Host,
  interrupted: AbortSignal,
): Promise<KeySummary> {
  const prompts = await openPrompts(host, interrupted);
  return await prompts.searchOne({
    label,
    items: keys.map((key) => ({
      value: key,
      label: escapeInvisible(key.name),
      hint: escapeInvisible([key.roles.join(","), key.description].filter((text) => text).join("  ")),
    })),
  });
}
