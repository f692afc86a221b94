/** What every deletion of several keys respects: the risk of a lockout, the key in use, and refusals by the server. */
import { Failure, type FailureCode } from "../../../../apikey/failure.ts";
import type { Client, KeyReference } from "../../../../client/client.ts";
import { confirmRisks, findRisks, type GuardedKey, listAdmins } from "../lockout.ts";
import type { Deletion } from "./delete_many.ts";

/**
 * Unless `--yes` is given, prompts for the names of the keys whose deletion can lock the user out.
 *
 * @param keys the keys to delete
 * @param describes whether to describe the keys first, because no prompt has shown them
 * @throws {Failure} `USAGE` if the command cannot prompt; `INTERRUPTED`
 */
export async function confirmLockout(
  client: Client,
  keys: readonly GuardedKey[],
  keyInUse: string | undefined,
  { flags, dialog }: Pick<Deletion, "flags" | "dialog">,
  describes = false,
): Promise<void> {
  if (flags.yes) return;
  const admins = keys.some(({ roles }) => roles?.includes("ADMIN") ?? true) ? await listAdmins(client) : [];
  const before = [...new Map([...keys, ...admins].map((key) => [key.id, key])).values()];
  const ids = new Set(keys.map(({ id }) => id));
  const after = before.filter(({ id }) => !ids.has(id));
  await confirmRisks(
    findRisks(before, after, keyInUse, dialog.host.now()),
    "delete",
    flags,
    dialog,
    describes ? client : undefined,
  );
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
