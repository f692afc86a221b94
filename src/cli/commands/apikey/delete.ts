/** `apikey --delete` (spec section 4.2). */
import { Failure } from "../../../apikey/failure.ts";
import { type Name, parseExistingName } from "../../../apikey/name.ts";
import type { Client, KeyReference } from "../../../client/client.ts";
import type { UseClient } from "../../connection/connection.ts";
import { ExitCode } from "../../exit_code.ts";
import { canPrompt, type PromptFlags } from "../../host/can_prompt.ts";
import type { Host } from "../../host/host.ts";
import { DeletionFailure } from "../../report.ts";
import { type DeleteResult, printDeleteResult } from "./delete_output.ts";

/** The flags as typed. */
export interface DeleteFlags extends PromptFlags {
  readonly name?: string | undefined;
  readonly json?: boolean | undefined;
}

/**
 * Deletes the keys with the given name, or the keys that the user selects at a terminal, and prints the result.
 *
 * @throws {Failure} with any code; no key was deleted unless the message says that some were or may have been
 */
export async function deleteKeys(flags: DeleteFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  if (flags.name === undefined && !canPrompt(flags, host)) {
    throw new Failure("USAGE", "--delete needs --name if it cannot prompt.");
  }
  const name = flags.name === undefined ? undefined : parseExistingName(flags.name);
  try {
    return await useClient(async (connect, interrupted) => {
      const client = await connect();
      const result = name === undefined
        ? await deleteSelected(client, flags, host, interrupted)
        : await deleteByName(client, name);
      await printDeleteResult(result, flags, host);
      return result.kind === "not found" ? ExitCode.FAILED : ExitCode.OK;
    });
  } catch (error) {
    throw error instanceof DeletionFailure ? error : new DeletionFailure(0, error);
  }
}

/** How often to try to delete keys, in case another client replaces or deletes some of them in the meantime. */
const MAX_ATTEMPTS = 3;

/**
 * Finds the keys with the name and deletes them. If the server does not delete them, for example because another client
 * has just replaced one, tries again.
 */
async function deleteByName(client: Client, name: Name, attempts = MAX_ATTEMPTS): Promise<DeleteResult> {
  const { matches, anyKey } = await client.findKeys(name);
  if (matches.length === 0) return anyKey ? { kind: "not found", name } : { kind: "no keys" };
  if (await client.deleteKeys(matches)) return { kind: "deleted", keys: matches };
  if (attempts > 1) return await deleteByName(client, name, attempts - 1);
  throw notDeleted();
}

async function deleteSelected(
  client: Client,
  flags: DeleteFlags,
  host: Host,
  interrupted: AbortSignal,
): Promise<DeleteResult> {
  const keys = await client.listKeys();
  if (keys.length === 0) return { kind: "no keys" };
  const { promptForKeys } = await import("#prompts");
  const selected = await promptForKeys(keys, flags, host, interrupted);
  if (selected.length === 0) return { kind: "none selected" };
  const deleted = await deleteInBatches(client, selected, host);
  return deleted.length === 0 ? { kind: "no keys" } : { kind: "deleted", keys: deleted };
}

/** The maximum number of batches. Keys are deleted in several batches so that the progress bar moves. */
const MAX_BATCHES = 50;

/**
 * Deletes keys in batches and skips keys that another client has deleted in the meantime.
 *
 * @returns the keys that this call deleted
 * @throws {DeletionFailure} with the number of keys deleted before the failure
 */
async function deleteInBatches(
  client: Client,
  keys: readonly KeyReference[],
  host: Host,
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
      deleted.push(...await deleteBatch(client, keys.slice(start, start + batchSize)));
    }
    return deleted;
  } catch (error) {
    throw new DeletionFailure(deleted.length, error);
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

function notDeleted(): Failure {
  return new Failure("FAILED", "The server did not confirm the deletion and gave no reason. Check the server's log.");
}
