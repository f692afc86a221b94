/** Deletes the keys that the user selects from a list. */
import type { Client, KeyReference } from "../../../../client/client.ts";
import { readMarkedKeys } from "../lockout.ts";
import type { Deletion } from "./delete_many.ts";
import type { DeleteResult } from "../delete_output.ts";
import { confirmLockout, keyInUseLast } from "./delete_safely.ts";
import { MAX_ATTEMPTS, notDeleted } from "../delete_target.ts";

export async function deleteSelected(deletion: Deletion): Promise<DeleteResult> {
  const { flags, connect, dialog } = deletion;
  const client = await connect();
  const { promptForKeys, requireRight } = await import("#prompts");
  await requireRight("delete", client);
  const { keys, keyInUse, marks } = await readMarkedKeys(client, dialog.host.now());
  if (keys.length === 0) return { kind: "no keys" };
  const selected = await promptForKeys(keys, { marks, isSelected: false }, flags, dialog);
  const risks = await confirmLockout(client, selected, keyInUse, deletion);
  const deleted = await deleteInBatches(client, keyInUseLast(selected, (key) => [key], keyInUse), deletion);
  return deleted.length === 0 ? { kind: "no keys" } : { kind: "deleted", keys: deleted, failed: [], risks };
}

/** The maximum number of batches. Keys are deleted in several batches so that the progress bar moves. */
const MAX_BATCHES = 50;

/**
 * Deletes keys in batches and skips keys that another client has deleted in the meantime.
 *
 * @returns the keys that this call deleted
 */
async function deleteInBatches(
  client: Client,
  keys: readonly KeyReference[],
  { dialog: { host }, countDeleted }: Deletion,
): Promise<readonly KeyReference[]> {
  const { openProgress } = await import("#terminal");
  const progress = openProgress("Deleting keys", keys.length, host);
  const batchSize = Math.ceil(keys.length / MAX_BATCHES);
  const deleted: KeyReference[] = [];
  try {
    for (let start = 0; start < keys.length; start += batchSize) {
      // deno-lint-ignore no-await-in-loop -- one batch at a time
      if (keys.length > 1) await progress.show(start);
      // deno-lint-ignore no-await-in-loop -- one batch at a time
      const batch = await deleteBatch(client, keys.slice(start, start + batchSize));
      deleted.push(...batch);
      countDeleted(batch.length);
    }
    return deleted;
  } finally {
    if (keys.length > 1) await progress.end();
  }
}

async function deleteBatch(
  client: Client,
  keys: readonly KeyReference[],
  attempts = MAX_ATTEMPTS,
): Promise<readonly KeyReference[]> {
  if (keys.length === 0 || await client.deleteKeys(keys)) return keys;
  const remaining = new Set((await client.listKeys()).map(({ id }) => id));
  if (attempts > 1) return await deleteBatch(client, keys.filter(({ id }) => remaining.has(id)), attempts - 1);
  throw notDeleted();
}
