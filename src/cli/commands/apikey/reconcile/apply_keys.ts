/** What `ensure` and `apply` do: bring keys and their files in order, batch by batch. */
import { Failure, quote, toSentence } from "../../../../apikey/failure.ts";
import type { ApiKey, Client, KeyReference } from "../../../../client/client.ts";
import { findRisks, listAdmins } from "../lockout.ts";
import { BATCH_SIZE, type FailedKey, FATAL, inspect, type Session, settle, type SettledKey } from "./settle.ts";
import type { PlannedKey, WantedKey } from "./plan.ts";

/** What happened to the keys, or with `--dry-run` what would happen. */
export interface Report {
  /** The keys that are wanted, in their order, without those that failed. */
  readonly keys: readonly (PlannedKey | SettledKey)[];
  /** The keys that `--prune` deleted. */
  readonly deleted: readonly KeyReference[];
  /** The wanted keys that failed, in their order, and then those that `--prune` could not delete. */
  readonly failed: readonly FailedKey[];
  /** How many keys `--prune` did not delete, because another key failed. */
  readonly kept: number;
  /** Whether the server records `managedBy`, which only servers of this program do. */
  readonly isEmbedded: boolean;
  /** Whether the server had no keys before this run, and does not show the secrets of the new keys. */
  readonly hidesSecrets: boolean;
}

export interface ApplyOptions {
  readonly dryRun: boolean;
  /** Deletes the keys of this manifest that are not among the wanted keys. `undefined` deletes none. */
  readonly prunes: string | undefined;
}

/**
 * Brings keys and their files in order. Continues with the next key if one fails. Deletes keys only if none failed,
 * because a key that failed may be the successor of one to delete.
 *
 * @throws {Failure} if the rest of the keys would fail too; the message says how many keys were changed
 */
export async function applyKeys(
  wanted: readonly WantedKey[],
  { dryRun, prunes }: ApplyOptions,
  session: Session,
): Promise<Report> {
  const { client, host } = session;
  const found = await inspect(client, wanted, host.now());
  const { isEmbedded } = found;
  const surplus = prunes === undefined ? [] : await findSurplus(prunes, wanted, isEmbedded, session);
  if (dryRun) {
    return { keys: found.planned, deleted: surplus, failed: found.failed, kept: 0, isEmbedded, hidesSecrets: false };
  }

  const settled: (PlannedKey | SettledKey)[] = found.planned.filter(({ action }) => action === "unchanged");
  const failed = [...found.failed];
  const changing = found.planned.filter(({ action }) => action !== "unchanged").map((planned) => planned.wanted);
  const countChanged = (): number => settled.filter(({ action }) => action !== "unchanged").length;
  const progress = changing.length > BATCH_SIZE
    ? (await import("#terminal")).openProgress("Changing keys", changing.length, host)
    : undefined;
  try {
    for (let start = 0; start < changing.length; start += BATCH_SIZE) {
      // deno-lint-ignore no-await-in-loop -- one batch at a time
      await progress?.show(start);
      // deno-lint-ignore no-await-in-loop -- one batch at a time
      const batch = await settle(changing.slice(start, start + BATCH_SIZE), session);
      settled.push(...batch.settled);
      failed.push(...batch.failed);
      if (batch.fatal !== undefined) throw unfinished(batch.fatal, countChanged());
    }
  } finally {
    await progress?.end();
  }
  const order = new Map<string, number>(wanted.map(({ name }, index) => [name, index]));
  const place = (name: string): number => order.get(name) ?? 0;
  const keys = settled.toSorted((a, b) => place(a.wanted.name) - place(b.wanted.name));
  const server = { isEmbedded, hidesSecrets: !found.tellsSecrets && await hidesSecrets(wanted, client) };
  if (failed.length > 0) {
    const sorted = failed.toSorted((a, b) => place(a.name) - place(b.name));
    return { keys, deleted: [], failed: sorted, kept: surplus.length, ...server };
  }
  const deletion = await deleteEach(surplus, session);
  if (deletion.fatal !== undefined) throw unfinished(deletion.fatal, countChanged() + deletion.deleted.length);
  return { keys, deleted: deletion.deleted, failed: deletion.failed, kept: 0, ...server };
}

/**
 * Finds the keys of a manifest that are not in it any more.
 *
 * @throws {Failure} `UNSUPPORTED` if the server does not record `managedBy`; `FAILED` if one of the keys is the key in use,
 * or if no key would have the role ADMIN without them
 */
async function findSurplus(
  managedBy: string,
  wanted: readonly WantedKey[],
  isEmbedded: boolean,
  { client, host }: Session,
): Promise<readonly KeyReference[]> {
  if (!isEmbedded) {
    throw client.unsupported("ApiKey.managedBy", "Without --prune, the command works on this server.");
  }
  const names = new Set<string>(wanted.map(({ name }) => name));
  const surplus: ApiKey[] = [];
  for await (const page of client.readKeys({ filter: { managedBy } })) {
    surplus.push(...page.filter((key) => key.managedBy === managedBy && !names.has(key.name.normalize("NFC"))));
  }
  // Otherwise, the order of keys that were created at the same moment would be arbitrary.
  surplus.sort((a, b) => a.name < b.name ? -1 : 1);
  const inUse = surplus.length === 0 ? undefined : await client.findKeyInUse();
  const admins = surplus.some(({ roles }) => roles?.includes("ADMIN")) ? await listAdmins(client) : [];
  const ids = new Set(surplus.map(({ id }) => id));
  // The manifest decides which of its keys have the role ADMIN.
  const others = admins.filter(({ id, name }) => !ids.has(id) && !names.has(name.normalize("NFC")));
  const [risk] = findRisks(
    surplus,
    [...others, ...wanted.map(({ name, roles }) => ({ id: "", name, roles }))],
    inUse?.id,
    host.now(),
  );
  if (risk === undefined) return surplus;
  const name = quote(risk.key.name);
  throw new Failure(
    "FAILED",
    risk.isInUse
      ? `--prune would delete the key in use, ${name}. Nothing was changed. Add the key to the manifest, or use ` +
        "another key for this command."
      : `--prune would delete ${name}, the last key with the role ADMIN. Nothing was changed. Add the key to the ` +
        "manifest, or delete it with service-api apikey delete.",
  );
}

/** Whether a server that had no keys turns out to hide the secrets of keys. A failure must not hide the result. */
async function hidesSecrets(wanted: readonly WantedKey[], client: Client): Promise<boolean> {
  try {
    await client.matchSecrets(wanted.map(({ name }) => ({ name, secret: undefined })));
    return false;
  } catch (error) {
    return error instanceof Failure && error.code === "UNSUPPORTED";
  }
}

interface Deletion {
  readonly deleted: readonly KeyReference[];
  readonly failed: readonly FailedKey[];
  /** A failure that also concerns the other keys. */
  readonly fatal?: Failure;
}

/** Deletes the keys. Skips a key that another client has deleted in the meantime. */
async function deleteEach(surplus: readonly KeyReference[], { client }: Session): Promise<Deletion> {
  const deleted: KeyReference[] = [];
  const failed: FailedKey[] = [];
  for (const key of surplus) {
    try {
      // deno-lint-ignore no-await-in-loop -- one request for each key, because a missing key prevents the others' deletion
      if (await client.deleteKeys([key])) deleted.push(key);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (FATAL.has(error.code)) return { deleted, failed, fatal: error };
      failed.push({ name: key.name, id: key.id, failure: error });
    }
  }
  return { deleted, failed };
}

function unfinished(failure: Failure, changed: number): Failure {
  // Without this, the message would say that nothing was changed.
  const isOnlyInterrupted = failure.code === "INTERRUPTED" && !failure.mayHaveExecuted;
  const sentences = [
    changed > 0 && isOnlyInterrupted ? "Interrupted." : toSentence(failure.message),
    changed === 0 ? "" : `Before that, ${changed === 1 ? "1 key was" : `${changed} keys were`} changed.`,
    failure.saysWhatToRun ? "" : "To finish, run the same command again.",
  ];
  return new Failure(failure.code, sentences.filter((sentence) => sentence !== "").join(" "), { cause: failure });
}
