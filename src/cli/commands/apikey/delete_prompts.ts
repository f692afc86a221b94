/** What `apikey --delete` asks a person: which keys, and whether that is meant. */
import { escapeInvisible, Failure, quote } from "../../../apikey/failure.ts";
import type { KeySummary } from "../../../client/client.ts";
import type { PromptFlags } from "../../host/can_prompt.ts";
import type { Host } from "../../host/host.ts";
import { openPrompts } from "../../prompts/prompts.ts";
import { fit, widthOf } from "../../terminal/text_width.ts";

/**
 * Shows the keys to be ticked, and asks whether those that were are to be deleted.
 *
 * @returns the keys to delete; none when none was ticked
 * @throws {Failure} `INTERRUPTED` when they are not to be deleted after all
 */
export async function promptForKeys(
  keys: readonly KeySummary[],
  flags: PromptFlags,
  host: Host,
  interrupted: AbortSignal,
): Promise<readonly KeySummary[]> {
  const prompts = await openPrompts(host, interrupted);
  const rolesWidth = keys.reduce((width, { roles }) => Math.max(width, widthOf(roles.join(","))), 0);
  const ticked = await prompts.select({
    label: "Keys to delete",
    items: keys.map((key) => ({ value: key, label: escapeInvisible(key.name), hint: describe(key, rolesWidth) })),
  });
  const [first, ...others] = ticked;
  if (first === undefined) return [];
  const what = others.length === 0 ? `the key ${quote(first.name)}` : `${ticked.length} keys`;
  const label = `Delete ${what}? Requests with ${others.length === 0 ? "it" : "them"} fail at once.`;
  if (flags.yes || await prompts.confirm({ label, initial: false })) return ticked;
  throw new Failure("INTERRUPTED", "Nothing was deleted.");
}

/** Roles, day of creation, description: the first two in columns. */
function describe({ roles, createdAt, description }: KeySummary, rolesWidth: number): string {
  const day = createdAt === null ? "" : /^\d{4}-\d{2}-\d{2}/.exec(createdAt)?.[0] ?? createdAt;
  const columns = [...(rolesWidth === 0 ? [] : [fit(roles.join(","), rolesWidth, "")]), day, description ?? ""];
  return escapeInvisible(columns.join("  ").trimEnd());
}
