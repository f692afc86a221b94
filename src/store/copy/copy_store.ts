/**
 * Copies an SQLite store to an empty store, with the ids, the hashes and the order of everything in it, so that every
 * secret and every position in the audit trail stays valid. All or nothing is copied. Only the command `store copy`
 * loads this module. In the executable, it is a separate bundle.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Failure } from "../../apikey/failure.ts";
import type { WaitOptions } from "../sqlite_database.ts";
import type { StoreLocation } from "../store_location.ts";
import { fillSqlite } from "./sqlite_destination.ts";
import { openSource, type Source } from "./sqlite_source.ts";
import { type Destination, type RowCounts, TABLES } from "./tables.ts";

export type { RowCounts };

export interface CopyOptions extends Pick<WaitOptions, "busyTimeout"> {
  /** The directory of the SQLite store to copy. */
  readonly from: string;
  readonly to: StoreLocation;
  /**
   * Called when some rows are copied. If it throws, nothing is copied.
   *
   * @param total how many rows the source has
   */
  readonly onProgress: (done: number, total: number) => Promise<void>;
  /** Called before the copy takes effect. If it throws, nothing is copied. */
  readonly beforeCommit: () => void;
}

/**
 * Copies a store. No process can use the source meanwhile. The memory in use does not grow with the store.
 *
 * @returns what was copied
 * @throws {Failure} `USAGE` if the source is missing, or is the destination
 * @throws {Failure} `FAILED` if the destination is not empty, or if one of the two has an older schema
 * @throws {Failure} `TIMEOUT` if another process has the source open or keeps the destination locked
 * @throws {Failure} `UNREACHABLE` if one of the two cannot be used
 * @throws what the functions in the options throw
 */
export async function copyStore(options: CopyOptions): Promise<RowCounts> {
  const { from, to, busyTimeout } = options;
  if (to.kind === "directory") await requireOtherDirectory(from, to.path);
  const source = await openSource(from);
  try {
    const fill = (destination: Destination): Promise<void> => copyRows(source, destination, options);
    if (to.kind === "directory") await fillSqlite(to.path, { busyTimeout }, fill);
    else await (await import("./postgres_destination.ts")).fillPostgres(to.address, busyTimeout, fill);
    return source.counts;
  } finally {
    source.close();
  }
}

async function copyRows(
  source: Source,
  destination: Destination,
  { onProgress, beforeCommit }: CopyOptions,
): Promise<void> {
  const present = await countAll(destination);
  if (sum(present) > 0) {
    throw new Failure(
      "FAILED",
      `The store ${destination.label} is not empty: it has ${describeCounts(present)}. Nothing was copied. ` +
        destination.remedy,
    );
  }
  const total = sum(source.counts);
  let done = 0;
  for (const table of TABLES) {
    for (const rows of source.read(table)) {
      // deno-lint-ignore no-await-in-loop -- one batch at a time, so that only one is in memory
      await destination.insert(table, rows);
      done += rows.length;
      // deno-lint-ignore no-await-in-loop -- as above
      await onProgress(done, total);
      // deno-lint-ignore no-await-in-loop -- lets the process receive signals
      await nextTurn();
    }
  }
  await destination.finish(source.lastEventId);
  const copied = await countAll(destination);
  if (describeCounts(copied) !== describeCounts(source.counts)) {
    throw new Failure(
      "FAILED",
      `Only ${describeCounts(copied)} of ${describeCounts(source.counts)} arrived in the store ${destination.label}. ` +
        "Nothing was copied. Please report this.",
    );
  }
  beforeCommit();
}

async function countAll(destination: Destination): Promise<RowCounts> {
  const counts = { keys: 0, resources: 0, auditEvents: 0 };
  for (const table of TABLES) {
    // deno-lint-ignore no-await-in-loop -- a transaction runs one statement at a time
    counts[table.counted] = await destination.count(table);
  }
  return counts;
}

function sum({ keys, resources, auditEvents }: RowCounts): number {
  return keys + resources + auditEvents;
}

/** Returns, for example, `12 API keys, 1 resource and 340 audit events`. */
export function describeCounts({ keys, resources, auditEvents }: RowCounts): string {
  const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;
  return `${count(keys, "API key")}, ${count(resources, "resource")} and ${count(auditEvents, "audit event")}`;
}

async function requireOtherDirectory(from: string, to: string): Promise<void> {
  const [source, destination] = await Promise.all([from, to].map(fileIn));
  if (source === undefined || source !== destination) return;
  throw new Failure("USAGE", "The source and the destination are the same store. Choose another destination.");
}

/** Returns the real path of the store in a directory; `undefined` if there is none. */
async function fileIn(directory: string): Promise<string | undefined> {
  try {
    return await Deno.realPath(`${directory}/keys.db`);
  } catch {
    return undefined;
  }
}
