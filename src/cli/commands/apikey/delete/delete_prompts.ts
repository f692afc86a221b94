/** The prompts of `apikey --delete`. */
import { escapeInvisible, Failure, quote } from "../../../../apikey/failure.ts";
import type { ApiKey } from "../../../../client/client.ts";
import type { PromptFlags } from "../../../host/can_prompt.ts";
import type { Host } from "../../../host/host.ts";
import { openPrompts } from "../../../prompts/prompts.ts";
import { fit, widthOf } from "../../../terminal/text_width.ts";

/** What a list shows of a key. */
type ListedKey = Pick<ApiKey, "id" | "name" | "description" | "roles" | "createdAt">;

/** How a list shows keys. */
export interface KeyListOptions {
  /** What to say about a key, by its id, for example `in use`. */
  readonly notes: ReadonlyMap<string, string>;
  /** Whether every key is selected when the list appears. */
  readonly isSelected: boolean;
}

/**
 * Prompts the user to select keys from a list. Without `--yes`, asks for confirmation if at least one key is selected.
 *
 * @returns the selected keys; may be empty
 * @throws {Failure} `INTERRUPTED` if the user cancels or does not confirm
 */
export async function promptForKeys<Key extends ListedKey>(
  keys: readonly Key[],
  { notes, isSelected }: KeyListOptions,
  flags: PromptFlags,
  host: Host,
  interrupted: AbortSignal,
): Promise<readonly Key[]> {
  const prompts = await openPrompts(host, interrupted);
  const rolesWidth = keys.reduce((width, { roles }) => Math.max(width, widthOf((roles ?? []).join(","))), 0);
  const selected = await prompts.select({
    label: "Keys to delete",
    items: keys.map((key) => ({
      value: key,
      label: escapeInvisible(key.name),
      hint: describe(key, rolesWidth, notes.get(key.id)),
    })),
    initial: isSelected ? keys : [],
  });
  if (selected.length > 0) await confirmDeletion(selected.map(({ name }) => name), flags, host, interrupted);
  return selected;
}

/**
 * Asks for confirmation, unless `--yes` is given.
 *
 * @param keys the names or ids of the keys; not empty
 * @throws {Failure} `INTERRUPTED` if the user cancels or does not confirm
 */
export async function confirmDeletion(
  keys: readonly string[],
  flags: PromptFlags,
  host: Host,
  interrupted: AbortSignal,
): Promise<void> {
  if (flags.yes) return;
  const label = keys.length === 1
    ? `Delete the key ${quote(keys[0] ?? "")}? Its secret stops working immediately.`
    : `Delete ${keys.length} keys? Their secrets stop working immediately.`;
  const prompts = await openPrompts(host, interrupted);
  if (!await prompts.confirm({ label, initial: false })) throw new Failure("INTERRUPTED", "Nothing was deleted.");
}

/** Formats the roles and the day of creation in columns, then the note in brackets and the description. */
function describe({ roles, createdAt, description }: ListedKey, rolesWidth: number, note?: string): string {
  const columns = [
    ...(rolesWidth === 0 ? [] : [fit((roles ?? []).join(","), rolesWidth, "")]),
    createdAt === null ? "" : /^\d{4}-\d{2}-\d{2}/.exec(createdAt)?.[0] ?? createdAt,
    ...(note ? [`[${note}]`] : []),
    description ?? "",
  ];
  return escapeInvisible(columns.join("  ").trimEnd());
}
