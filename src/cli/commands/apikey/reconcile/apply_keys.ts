/** What `ensure` and `apply` do: bring keys and their files in order, batch by batch. */
import { Failure, quote, toSentence } from "../../../../apikey/failure.ts";
import type { KeyReference } from "../../../../client/client.ts";
import { BATCH_SIZE, type FailedKey, inspect, type Session, settle, type SettledKey } from "./settle.ts";
import type { PlannedKey, WantedKey } from "./plan.ts";

/** What happened to the keys, or with `--dry-run` what would happen. */
export interface Report {
  /** The keys of the manifest, in its order, without those that failed. */
  readonly keys: readonly (PlannedKey | SettledKey)[];
  /** The keys that `--prune` deleted. */
  readonly deleted: readonly KeyReference[];
  readonly failed: readonly FailedKey[];
  /** How many keys `--prune` did not delete, because another key failed. */
  readonly kept: number;
  /** Whether the server records `managedBy`, which only servers of this program do. */
  readonly isEmbedded: boolean;
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
  if (dryRun) return { keys: found.planned, deleted: surplus, failed: found.failed, kept: 0, isEmbedded };

  const settled: (PlannedKey | SettledKey)[] = found.planned.filter(({ action }) => action === "unchanged");
  const failed = [...found.failed];
  const changing = found.planned.filter(({ action }) => action !== "unchanged").map((planned) => planned.wanted);
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
      if (batch.fatal !== undefined) {
        throw unfinished(batch.fatal, settled.filter(({ action }) => action !== "unchanged").length);
      }
    }
  } finally {
    await progress?.end();
  }
  const deleted = failed.length === 0 ? await deleteEach(surplus, session) : [];
  const kept = failed.length === 0 ? 0 : surplus.length;
  const order = new Map(wanted.map(({ name }, index) => [name, index]));
  const place = ({ wanted: { name } }: { readonly wanted: WantedKey }): number => order.get(name) ?? 0;
  const keys = settled.toSorted((a, b) => place(a) - place(b));
  return { keys, deleted, failed: failed.toSorted((a, b) => place(a) - place(b)), kept, isEmbedded };
}

/**
 * Finds the keys of a manifest that are not in it any more.
 *
 * @throws {Failure} `UNSUPPORTED` if the server does not record `managedBy`; `FAILED` if one of the keys is the key in use
 */
async function findSurplus(
  managedBy: string,
  wanted: readonly WantedKey[],
  isEmbedded: boolean,
  { client }: Session,
): Promise<readonly KeyReference[]> {
  if (!isEmbedded) {
    throw client.unsupported("ApiKey.managedBy", "Without --prune, the command works on this server.");
  }
  const names = new Set<string>(wanted.map(({ name }) => name));
  const surplus: KeyReference[] = [];
  for await (const page of client.readKeys({ filter: { managedBy } })) {
    surplus.push(...page.filter((key) => key.managedBy === managedBy && !names.has(key.name.normalize("NFC"))));
  }
  const inUse = surplus.length === 0 ? undefined : await client.findKeyInUse();
  const own = surplus.find(({ id }) => id === inUse?.id);
  if (own === undefined) return surplus;
  throw new Failure(
    "FAILED",
    `--prune would delete the key in use, ${
      quote(own.name)
    }. Nothing was changed. Add the key to the manifest, or use ` +
      "another key for this command.",
  );
}

/** Deletes the keys. Skips a key that another client has deleted in the meantime. */
async function deleteEach(surplus: readonly KeyReference[], { client }: Session): Promise<readonly KeyReference[]> {
  const deleted: KeyReference[] = [];
  for (const key of surplus) {
    // deno-lint-ignore no-await-in-loop -- one request for each key, because a missing key prevents the others' deletion
    if (await client.deleteKeys([key])) deleted.push(key);
  }
  return deleted;
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
