/** Finds and deletes the keys with one name or id. */
import { Failure } from "../../../apikey/failure.ts";
import { hasName } from "../../../apikey/name.ts";
import type { Client, FoundKey, KeyReference } from "../../../client/client.ts";
import type { Target } from "./delete_output.ts";

/** How often to try to delete keys, in case another client replaces or deletes some of them in the meantime. */
export const MAX_ATTEMPTS = 3;

/** @param list lists all keys, for a target that is an id */
export async function findTarget(
  client: Client,
  target: Target,
  list: Client["listKeys"] = () => client.listKeys(),
): Promise<readonly FoundKey[]> {
  if (target.kind === "name") return await client.findKeys(target.value);
  return (await list()).filter((key) => isTarget(key, target));
}

/**
 * Deletes the keys of a target. If the server does not delete them, for example because another client has just
 * replaced one, finds them again and tries again.
 *
 * @param keys the keys of the target, as {@linkcode findTarget} found them
 * @returns the deleted keys; none if the server has no such key
 */
export async function deleteTarget(
  client: Client,
  target: Target,
  keys: readonly KeyReference[],
  attempts = MAX_ATTEMPTS,
): Promise<readonly KeyReference[]> {
  if (keys.length === 0 || await client.deleteKeys(keys)) return keys;
  if (attempts > 1) return await deleteTarget(client, target, await findTarget(client, target), attempts - 1);
  throw notDeleted();
}

export function isTarget(key: KeyReference, { kind, value }: Target): boolean {
  return kind === "id" ? key.id === value : hasName(key, value);
}

export function notDeleted(): Failure {
  return new Failure("FAILED", "The server did not confirm the deletion and gave no reason. Check the server's log.");
}
