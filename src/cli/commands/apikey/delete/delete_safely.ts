/** What every deletion of several keys respects: the risk of a lockout, the key in use, and refusals by the server. */
import { Failure, type FailureCode } from "../../../../apikey/failure.ts";
import type { Client, KeyReference } from "../../../../client/client.ts";
import type { Host } from "../../../host/host.ts";
import {
  confirmRisks,
  findRisks,
  type GuardedKey,
  knownRisks,
  listAdmins,
  type Risk,
  risksToWarnOf,
} from "../lockout.ts";
import type { Deletion } from "./delete_many.ts";

/**
 * Unless `--yes` is given, prompts for the names of the keys whose deletion can lock the user out.
 *
 * @param keys the keys to delete
 * @param describes whether to describe the keys first, because no prompt has shown them
 * @returns with `--yes`, these keys; otherwise nothing, because the user has typed the names
 * @throws {Failure} `USAGE` if the command cannot prompt; `INTERRUPTED`
 */
export async function confirmLockout(
  client: Client,
  keys: readonly GuardedKey[],
  keyInUse: string | undefined,
  { flags, dialog }: Pick<Deletion, "flags" | "dialog">,
  describes = false,
): Promise<readonly Risk[]> {
  if (flags.yes) return await deletionRisksToWarnOf(client, keys, keyInUse, dialog.host);
  const risks = await findDeletionRisks(client, keys, keyInUse, dialog.host);
  await confirmRisks(risks, "delete", flags, dialog, describes ? client : undefined);
  return [];
}

/** Does what `findDeletionRisks` does, for a warning. */
export async function deletionRisksToWarnOf(
  ...parameters: Parameters<typeof findDeletionRisks>
): Promise<readonly Risk[]> {
  return await risksToWarnOf(() => findDeletionRisks(...parameters));
}

/**
 * Returns the keys whose deletion can lock the user out. Asks for the keys with the role ADMIN if a key has this role, or
 * if the server does not report roles.
 */
async function findDeletionRisks(
  client: Client,
  keys: readonly GuardedKey[],
  keyInUse: string | undefined,
  host: Host,
): Promise<readonly Risk[]> {
  const admins = keys.some(({ roles }) => roles?.includes("ADMIN") ?? true) ? await listAdmins(client) : [];
  const before = [...new Map([...keys, ...admins].map((key) => [key.id, key])).values()];
  const ids = new Set(keys.map(({ id }) => id));
  return await knownRisks(findRisks(before, before.filter(({ id }) => !ids.has(id)), keyInUse, host.now()), client);
}

/** Moves what contains the key in use to the end: without this key, the command can delete no other key. */
export function keyInUseLast<Item>(
  items: readonly Item[],
  keysOf: (item: Item) => readonly KeyReference[],
  keyInUse: string | undefined,
): readonly Item[] {
  const isInUse = (item: Item): boolean => keysOf(item).some(({ id }) => id === keyInUse);
  return items.toSorted((one, other) => Number(isInUse(one)) - Number(isInUse(other)));
}

/** The codes of a failure that concerns only the keys that the request was to delete. */
const REFUSALS: readonly FailureCode[] = ["FORBIDDEN", "FAILED"];

export function isRefusal(error: unknown): error is Failure {
  return error instanceof Failure && REFUSALS.includes(error.code);
}
