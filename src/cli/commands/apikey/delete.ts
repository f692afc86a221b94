/** `apikey --delete` (spec section 4.2). */
import { Failure, reasonOf } from "../../../apikey/failure.ts";
import { type Name, parseName } from "../../../apikey/name.ts";
import type { Client, KeyReference } from "../../../client/client.ts";
import { canPrompt, type PromptFlags } from "../../host/can_prompt.ts";
import type { UseClient } from "../../connection/connection.ts";
import { ExitCode } from "../../exit_code.ts";
import type { Host } from "../../host/host.ts";
import { DeletionFailure, writeJson } from "../../report.ts";

/** The flags of the command, as they were typed. */
export interface DeleteFlags extends PromptFlags {
  readonly name?: string | undefined;
  readonly json?: boolean | undefined;
}

/** What came of it: keys that are gone, a name that none of the keys has, no key at all, or none that was wanted. */
type DeleteResult =
  | { readonly kind: "deleted"; readonly keys: readonly KeyReference[] }
  | { readonly kind: "not found"; readonly name: Name }
  | { readonly kind: "no keys" }
  | { readonly kind: "none selected" };

/**
 * Deletes the keys of a name, or those that a person at a terminal ticks, and prints what was deleted.
 *
 * @throws {DeletionFailure} of any kind; nothing was deleted, unless the message says otherwise
 */
export async function deleteKeys(flags: DeleteFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  if (flags.name === undefined && !canPrompt(flags, host)) {
    throw new Failure("USAGE", "Deleting a key needs its name: give --name.");
  }
  const name = flags.name === undefined ? undefined : parseName(flags.name);
  try {
    return await useClient(async (connect, interrupted) => {
      const client = await connect();
      const result = name === undefined
        ? await deleteTicked(client, flags, host, interrupted)
        : await deleteByName(client, name);
      await print(result, flags, host);
      return result.kind === "not found" ? ExitCode.FAILED : ExitCode.OK;
    });
  } catch (error) {
    throw error instanceof DeletionFailure ? error : new DeletionFailure(0, error);
  }
}

async function print(result: DeleteResult, flags: DeleteFlags, host: Host): Promise<void> {
  try {
    if (flags.json) await writeJson(host.stdout, toJson(result));
    else await host.stdout.write(`${toText(result)}\n`);
  } catch (error) {
    throw new Failure("FAILED", `${toText(result)}, but nobody was told: ${reasonOf(error)}`, { cause: error });
  }
}

/** Another caller may replace the key between the look-up and the deletion: then it is looked up again. */
async function deleteByName(client: Client, name: Name, attempts = 3): Promise<DeleteResult> {
  const { matches, anyKey } = await client.find(name);
  if (matches.length === 0) return anyKey ? { kind: "not found", name } : { kind: "no keys" };
  if (await client.remove(matches)) return { kind: "deleted", keys: matches };
  if (attempts > 1) return await deleteByName(client, name, attempts - 1);
  throw notDeleted();
}

async function deleteTicked(
  client: Client,
  flags: DeleteFlags,
  host: Host,
  interrupted: AbortSignal,
): Promise<DeleteResult> {
  const keys = await client.list();
  if (keys.length === 0) return { kind: "no keys" };
  const { promptForKeys } = await import("#prompts");
  const ticked = await promptForKeys(keys, flags, host, interrupted);
  if (ticked.length === 0) return { kind: "none selected" };
  const deleted = await deleteAll(client, ticked, host);
  return deleted.length === 0 ? { kind: "no keys" } : { kind: "deleted", keys: deleted };
}

/** In how many steps many keys are deleted, so that progress can be seen. */
const STEPS = 50;

/**
 * Deletes keys step by step; those that somebody else deleted in the meantime are passed over.
 *
 * @returns the keys that were deleted
 * @throws {DeletionFailure} that says how many were deleted before
 */
async function deleteAll(client: Client, keys: readonly KeyReference[], host: Host): Promise<readonly KeyReference[]> {
  const { openProgress } = await import("#terminal");
  const progress = openProgress("Deleting keys", keys.length, host);
  const size = Math.ceil(keys.length / STEPS);
  const deleted: KeyReference[] = [];
  try {
    for (let start = 0; start < keys.length; start += size) {
      // deno-lint-ignore no-await-in-loop -- step by step
      if (keys.length > 1) await progress.show(start);
      // deno-lint-ignore no-await-in-loop -- as above
      deleted.push(...await deleteThose(client, keys.slice(start, start + size)));
    }
    return deleted;
  } catch (error) {
    throw new DeletionFailure(deleted.length, error);
  } finally {
    if (keys.length > 1) await progress.end();
  }
}

async function deleteThose(
  client: Client,
  keys: readonly KeyReference[],
  attempts = 3,
): Promise<readonly KeyReference[]> {
  if (keys.length === 0 || await client.remove(keys)) return keys;
  const left = new Set((await client.list()).map(({ id }) => id));
  if (attempts > 1) return await deleteThose(client, keys.filter(({ id }) => left.has(id)), attempts - 1);
  throw notDeleted();
}

function notDeleted(): Failure {
  return new Failure("FAILED", "The server did not delete the key and did not say why. Its log may tell.");
}

function toJson(result: DeleteResult): object {
  switch (result.kind) {
    case "deleted":
      return { deleted: result.keys.length, keys: result.keys.map(({ id, name }) => ({ id, name })) };
    case "not found":
      return { deleted: 0, error: `No API key found with name: ${result.name}` };
    case "no keys":
      return { deleted: 0, message: "No API keys found to delete" };
    case "none selected":
      return { deleted: 0, message: "No keys selected for deletion" };
  }
}

function toText(result: DeleteResult): string {
  if (result.kind === "none selected") return "No keys selected for deletion";
  if (result.kind !== "deleted") return "No API keys found to delete";
  const { length } = result.keys;
  return `Successfully deleted ${length} API ${length === 1 ? "key" : "keys"}`;
}
