/** `apikey --delete` (spec section 4.2). */
import { Failure, type FailureCode } from "../../../apikey/failure.ts";
import { hasName, parseExistingName } from "../../../apikey/name.ts";
import type { Client, KeyReference } from "../../../client/client.ts";
import type { UseClient } from "../../connection/connection.ts";
import { ExitCode } from "../../exit_code.ts";
import { canPrompt, type PromptFlags } from "../../host/can_prompt.ts";
import type { Host } from "../../host/host.ts";
import { DeletionFailure } from "../../report.ts";
import {
  type DeleteResult,
  type FailedTarget,
  isSuccess,
  notFound,
  printDeleteResult,
  type Target,
} from "./delete_output.ts";

/** The flags as typed. */
export interface DeleteFlags extends PromptFlags {
  readonly name?: readonly string[] | undefined;
  readonly id?: readonly string[] | undefined;
  readonly json?: boolean | undefined;
}

/**
 * Deletes the keys with the given names and ids, or the keys that the user selects at a terminal, and prints the result.
 *
 * @param options `confirms`: without `--yes`, asks for confirmation even if names or ids are given
 * @throws {Failure} with any code; no key was deleted unless the message says that some were or may have been
 */
export async function deleteKeys(
  flags: DeleteFlags,
  { confirms }: { readonly confirms: boolean },
  host: Host,
  useClient: UseClient,
): Promise<ExitCode> {
  const targets = parseTargets(flags);
  const [target, ...others] = targets;
  if (target === undefined && !canPrompt(flags, host)) {
    throw new Failure("USAGE", "--delete needs --name or --id if it cannot prompt.");
  }
  try {
    return await useClient(async (connect, interrupted, describePlace) => {
      const place = describePlace();
      if (confirms && target !== undefined) {
        const { confirmDeletion } = await import("#prompts");
        await confirmDeletion(targets.map(({ value }) => value), flags, host, interrupted);
      }
      const client = await connect();
      const result = target === undefined
        ? await deleteSelected(client, flags, host, interrupted)
        : others.length === 0
        ? await deleteOne(client, target)
        : await deleteEach(client, targets);
      await printDeleteResult(result, place, flags, host);
      return isSuccess(result) ? ExitCode.OK : ExitCode.FAILED;
    });
  } catch (error) {
    throw error instanceof DeletionFailure ? error : new DeletionFailure(0, error);
  }
}

/** @throws {Failure} `INVALID_NAME`; `USAGE` if an id is empty */
function parseTargets({ name: names = [], id: ids = [] }: DeleteFlags): readonly Target[] {
  const targets: readonly Target[] = [
    ...names.map((name): Target => ({ kind: "name", value: parseExistingName(name) })),
    ...ids.map((id): Target => ({ kind: "id", value: parseId(id) })),
  ];
  return [...new Map(targets.map((target) => [`${target.kind} ${target.value}`, target])).values()];
}

function parseId(typed: string): string {
  const id = typed.trim();
  if (id !== "") return id;
  throw new Failure("USAGE", "--id is empty. Pass the id of a key, for example key_1.");
}

/** How often to try to delete keys, in case another client replaces or deletes some of them in the meantime. */
const MAX_ATTEMPTS = 3;

async function deleteOne(client: Client, target: Target): Promise<DeleteResult> {
  const keys = await deleteTarget(client, target);
  return keys.length === 0 ? { kind: "not found", target } : { kind: "deleted", keys, failed: [] };
}

/**
 * Deletes the keys of each target. Continues with the next target if a key is missing or the server refuses to delete it.
 *
 * @throws {DeletionFailure} for any other failure, with the number of keys deleted before it
 */
async function deleteEach(client: Client, targets: readonly Target[]): Promise<DeleteResult> {
  const keys: KeyReference[] = [];
  const failed: FailedTarget[] = [];
  let listed: ReturnType<Client["listKeys"]> | undefined;
  const listOnce: Client["listKeys"] = () => listed ??= client.listKeys();
  for (const target of targets) {
    // One key can have a name and an id of the command line.
    if (keys.some((key) => isTarget(key, target))) continue;
    try {
      // deno-lint-ignore no-await-in-loop -- one request at a time, so that each refusal belongs to one target
      const deleted = await deleteTarget(client, target, listOnce);
      keys.push(...deleted);
      if (deleted.length === 0) failed.push({ target, code: "NOT_FOUND", error: notFound(target) });
    } catch (error) {
      if (!(error instanceof Failure) || !REFUSALS.includes(error.code)) throw new DeletionFailure(keys.length, error);
      failed.push({ target, code: error.code, error: error.message });
    }
  }
  return { kind: "deleted", keys, failed };
}

/** The codes of a failure that concerns only the key that the request was to delete. */
const REFUSALS: readonly FailureCode[] = ["FORBIDDEN", "FAILED"];

/**
 * Finds the keys of a target and deletes them. If the server does not delete them, for example because another client
 * has just replaced one, lists them again and tries again.
 *
 * @param listFirst lists the keys for the first attempt
 * @returns the deleted keys; none if the server has no such key
 */
async function deleteTarget(
  client: Client,
  target: Target,
  listFirst: Client["listKeys"] = () => client.listKeys(),
  attempts = MAX_ATTEMPTS,
): Promise<readonly KeyReference[]> {
  const keys = target.kind === "name"
    ? await client.findKeys(target.value)
    : (await listFirst()).filter((key) => isTarget(key, target));
  if (keys.length === 0 || await client.deleteKeys(keys)) return keys;
  if (attempts > 1) return await deleteTarget(client, target, undefined, attempts - 1);
  throw notDeleted();
}

function isTarget(key: KeyReference, { kind, value }: Target): boolean {
  return kind === "id" ? key.id === value : hasName(key, value);
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
  return deleted.length === 0 ? { kind: "no keys" } : { kind: "deleted", keys: deleted, failed: [] };
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
