/** Deletes the keys that a filter matches. */
import { Failure } from "../../../../apikey/failure.ts";
import type { KeyFilter } from "../../../../apikey/key_filter.ts";
import type { ApiKey, Client, KeyField, KeyReference } from "../../../../client/client.ts";
import { canPrompt } from "../../../host/can_prompt.ts";
import { listAdmins, markRisks } from "../lockout.ts";
import type { Deletion } from "./delete_many.ts";
import type { DeleteResult, FailedDeletion } from "../delete_output.ts";
import { confirmLockout, isRefusal, keyInUseLast } from "./delete_safely.ts";
import { MAX_ATTEMPTS, notDeleted } from "../delete_target.ts";

/**
 * Deletes the keys that the filter matches and, without `--yes`, that the user has selected from them.
 *
 * @throws {Failure} `USAGE` if `--yes` is not given and the command cannot prompt; `UNSUPPORTED` if the server does not
 * report what the filter needs; any other code, also after keys were deleted
 */
export async function deleteMatching(filter: KeyFilter, deletion: Deletion): Promise<DeleteResult> {
  const { connect, flags, dialog: { host } } = deletion;
  const client = await connect();
  const keys = (await Array.fromAsync(client.readKeys({ filter, now: host.now(), filtersAgain: true }))).flat();
  if (keys.length === 0) return { kind: "no matches", kept: [] };
  if (!flags.yes && !canPrompt(flags, host)) throw needsYes(keys.length);
  const keyInUse = (await client.findKeyInUse())?.id;
  const selected = flags.yes ? keys : await select(client, keys, filter, keyInUse, deletion);
  const risks = await confirmLockout(client, selected, keyInUse, deletion);
  const result = await deleteUnchanged(client, keyInUseLast(selected, (key) => [key], keyInUse), filter, deletion);
  return result.kind === "deleted" ? { ...result, risks } : result;
}

function needsYes(count: number): Failure {
  const keys = count === 1 ? "1 key matches" : `${count} keys match`;
  const them = count === 1 ? "it" : "them";
  return new Failure("USAGE", `${keys}. Nothing was deleted. To delete ${them} without a prompt, add --yes.`);
}

/** Shows the keys in a list, all of them selected. */
async function select(
  client: Client,
  keys: readonly ApiKey[],
  filter: KeyFilter,
  keyInUse: string | undefined,
  { flags, dialog }: Deletion,
): Promise<readonly ApiKey[]> {
  const { promptForKeys, requireRight } = await import("#prompts");
  await requireRight("delete", client);
  const marks = markRisks(await listAdmins(client), keyInUse, dialog.host.now());
  const notes = new Map(keys.map((key) => [key.id, describe(key, filter, marks.get(key.id))]));
  return await promptForKeys(keys, { marks, notes, isSelected: true }, flags, dialog);
}

/** The mark of a risk, and the expiry if the filter asks for it. The list itself shows the last use. */
function describe({ expiresAt }: ApiKey, { expired }: KeyFilter, mark?: string): string {
  return [
    ...(mark === undefined ? [] : [mark]),
    ...(expired && expiresAt !== null ? [`expired ${expiresAt.slice(0, "2026-01-02".length)}`] : []),
  ].join(", ");
}

/** The number of keys in a batch. The embedded server accepts at most 100 aliases in a request. */
const BATCH_SIZE = 100;

interface Batch {
  readonly keys: readonly ApiKey[];
  /** How often the server may still answer that it deleted nothing, without a reason. */
  readonly attempts: number;
  /** Why the server refused to delete the keys together with others. */
  readonly refusal?: Failure;
}

/**
 * Deletes keys in batches. Reads the keys of each batch again right before it deletes them. Keeps those that a client has
 * used or changed, and skips those that a client has deleted. If the server refuses a batch, divides it, to find
 * the keys that it refuses.
 */
async function deleteUnchanged(
  client: Client,
  keys: readonly ApiKey[],
  filter: KeyFilter,
  { dialog: { host }, countDeleted }: Deletion,
): Promise<DeleteResult> {
  const { openProgress } = await import("#terminal");
  const progress = openProgress("Deleting keys", keys.length, host);
  const deleted: KeyReference[] = [];
  const kept: KeyReference[] = [];
  const failed: FailedDeletion[] = [];
  const fields = fieldsToCompare(keys, filter);
  const fail = (keys: readonly KeyReference[], { code, message }: Failure): void => {
    failed.push(...keys.map(({ id, name }) => ({ id, name, code, error: message })));
  };

  /** @returns the batches in which to try again */
  async function deleteBatch({ keys, attempts, refusal }: Batch): Promise<readonly Batch[]> {
    const current = new Map((await client.readAgain(keys.map(({ id }) => id), fields)).map((key) => [key.id, key]));
    const isUnchanged = (key: ApiKey): boolean => fields.every((field) => current.get(key.id)?.[field] === key[field]);
    const unchanged = keys.filter(isUnchanged);
    kept.push(...keys.filter((key) => current.has(key.id) && !isUnchanged(key)));
    // The server reported an error, but the keys are gone.
    if (refusal?.code === "FAILED") fail(keys.filter(({ id }) => !current.has(id)), refusal);
    if (unchanged.length === 0) return [];
    try {
      if (await client.deleteKeys(unchanged)) {
        deleted.push(...unchanged);
        countDeleted(unchanged.length);
        return [];
      }
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (unchanged.length > 1) return inBatches(unchanged, Math.ceil(unchanged.length / 2), error);
      fail(unchanged, error);
      return [];
    }
    if (attempts === 1) throw notDeleted();
    return [{ keys: unchanged, attempts: attempts - 1 }];
  }

  const pending = [...inBatches(keys, BATCH_SIZE)];
  try {
    for (let batch = pending.shift(); batch !== undefined; batch = pending.shift()) {
      // deno-lint-ignore no-await-in-loop -- one batch at a time
      if (keys.length > 1) await progress.show(deleted.length + kept.length + failed.length);
      // deno-lint-ignore no-await-in-loop -- one batch at a time
      pending.unshift(...await deleteBatch(batch));
    }
  } finally {
    if (keys.length > 1) await progress.end();
  }
  const isEmpty = deleted.length === 0 && failed.length === 0;
  return isEmpty ? { kind: "no matches", kept } : { kind: "deleted", keys: deleted, failed, kept };
}

function inBatches(keys: readonly ApiKey[], size: number, refusal?: Failure): readonly Batch[] {
  const count = Math.ceil(keys.length / size);
  return Array.from({ length: count }, (_, index) => ({
    keys: keys.slice(index * size, (index + 1) * size),
    attempts: MAX_ATTEMPTS,
    ...(refusal === undefined ? {} : { refusal }),
  }));
}

/** The fields whose change means that a key may no longer match, or is not what the user has seen. */
function fieldsToCompare(keys: readonly ApiKey[], { expired, unusedSince }: KeyFilter): readonly KeyField[] {
  return [
    "id",
    "name",
    ...(expired === undefined ? [] : ["expiresAt"] as const),
    ...(unusedSince === undefined ? [] : ["lastUsedAt"] as const),
    ...(keys.every(({ revision }) => revision !== null) ? ["revision"] as const : []),
  ];
}
