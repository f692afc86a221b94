/** Deletes the keys with several names and ids, the keys that filters match, or the keys that the user selects. */
import type { FailureCode } from "../../../../apikey/failure.ts";
import type { Client, FoundKey, KeyReference } from "../../../../client/client.ts";
import type { Dialog } from "../../../host/dialog.ts";
import { readMarkedKeys } from "../lockout.ts";
import { parseFilter } from "../filter_flags.ts";
import type { DeleteFlags } from "../delete.ts";
import { confirmLockout, isRefusal, keyInUseLast } from "./delete_safely.ts";
import { deleteMatching } from "./delete_matching.ts";
import { type DeleteResult, type FailedDeletion, notFound, type Target } from "../delete_output.ts";
import { deleteSelected } from "./delete_selected.ts";
import { deleteTarget, findTarget, isTarget } from "../delete_target.ts";

/** How to delete keys. */
export interface Deletion {
  readonly flags: DeleteFlags;
  /** Whether to ask for confirmation also if names or ids are given, unless `--yes` is given. */
  readonly confirms: boolean;
  readonly connect: () => Promise<Client>;
  readonly dialog: Dialog;
  /** Called after each deletion with the number of deleted keys, so that the message of a failure can say it. */
  readonly countDeleted: (count: number) => void;
}

/**
 * Deletes the keys of the targets. Without targets, deletes the keys that the filters match. Without filters, deletes the
 * keys that the user selects.
 *
 * @throws {Failure} with any code; keys may have been deleted before the failure
 */
export async function deleteMany(targets: readonly Target[], deletion: Deletion): Promise<DeleteResult> {
  if (targets.length > 0) return await deleteTargets(targets, deletion);
  const filter = parseFilter(deletion.flags, deletion.dialog.host.now());
  return filter === undefined ? await deleteSelected(deletion) : await deleteMatching(filter, deletion);
}

/** Continues with the next target if a key is missing or, with several targets, if the server refuses to delete it. */
async function deleteTargets(targets: readonly Target[], deletion: Deletion): Promise<DeleteResult> {
  const { flags, confirms, connect, dialog, countDeleted } = deletion;
  const client = await connect();
  const deleted: KeyReference[] = [];
  const failures = new Map<Target, { readonly code: FailureCode; readonly error: string }>();
  /** Deletes or finds the keys of a target, and records why there are none. */
  const attempt = async <Key>(target: Target, act: () => Promise<readonly Key[]>): Promise<readonly Key[]> => {
    try {
      const keys = await act();
      if (keys.length === 0) failures.set(target, { code: "NOT_FOUND", error: notFound(target) });
      return keys;
    } catch (error) {
      if (!isRefusal(error) || targets.length === 1) throw error;
      failures.set(target, { code: error.code, error: error.message });
      return [];
    }
  };

  const found = await findTargets(client, targets, attempt);
  const keysToDelete = [...found.values()].flat();
  if (confirms && !flags.yes && keysToDelete.length > 0) await confirmTargets(client, keysToDelete, flags, dialog);
  const keyInUse = await client.findKeyInUse();
  const risks = await confirmLockout(client, keysToDelete, keyInUse?.id, deletion, !confirms);
  for (const [target, keys] of keyInUseLast([...found], ([, keys]) => keys, keyInUse?.id)) {
    // deno-lint-ignore no-await-in-loop -- one request at a time, so that each refusal belongs to one target
    const deletedNow = await attempt(target, () => deleteTarget(client, target, keys));
    deleted.push(...deletedNow);
    countDeleted(deletedNow.length);
  }

  const [target, ...others] = targets;
  if (target !== undefined && others.length === 0 && deleted.length === 0) return { kind: "not found", target };
  const failed = targets.flatMap((target): readonly FailedDeletion[] => {
    const failure = failures.get(target);
    const { kind, value } = target;
    return failure === undefined
      ? []
      : [{ id: kind === "id" ? value : null, name: kind === "name" ? value : null, ...failure }];
  });
  return { kind: "deleted", keys: deleted, failed, risks };
}

/** Describes the keys and asks for confirmation. */
async function confirmTargets(
  client: Client,
  found: readonly FoundKey[],
  flags: DeleteFlags,
  dialog: Dialog,
): Promise<void> {
  const { confirmDeletion, requireRight } = await import("#prompts");
  await requireRight("delete", client);
  const { keys, marks } = await readMarkedKeys(client, dialog.host.now());
  const ids = new Set(found.map(({ id }) => id));
  await confirmDeletion(keys.filter(({ id }) => ids.has(id)), marks, flags, dialog);
}

type FindAttempt = (target: Target, find: () => Promise<readonly FoundKey[]>) => Promise<readonly FoundKey[]>;

/** Returns the keys of each target that has keys. Lists the keys of the server at most once. */
async function findTargets(
  client: Client,
  targets: readonly Target[],
  attempt: FindAttempt,
): Promise<ReadonlyMap<Target, readonly FoundKey[]>> {
  const found = new Map<Target, readonly FoundKey[]>();
  let listed: ReturnType<Client["listKeys"]> | undefined;
  const listOnce: Client["listKeys"] = () => listed ??= client.listKeys();
  for (const target of targets) {
    // One key can have a name and an id of the command line.
    if ([...found.values()].flat().some((key) => isTarget(key, target))) continue;
    // deno-lint-ignore no-await-in-loop -- one request at a time, so that each refusal belongs to one target
    const keys = await attempt(target, () => findTarget(client, target, listOnce));
    if (keys.length > 0) found.set(target, keys);
  }
  return found;
}
