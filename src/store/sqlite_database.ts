/**
 * The file behind the SQLite store: whose it is, who may read it, what is to be done when another process has it or
 * the disk fails.
 */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { Failure, quote, reasonOf } from "../apikey/failure.ts";
import { APPLICATION_ID, SQLITE_MIGRATIONS as MIGRATIONS } from "./migrations.ts";

/** How long SQLite itself waits for another process, in milliseconds; this process does nothing else meanwhile. */
const BUSY_TIMEOUT = 5;

/** How long this process does other things between two tries, in milliseconds. */
const LONGEST_PAUSE = 10;

/** How to wait for other processes. */
export interface WaitOptions {
  /** For how long, in milliseconds. */
  readonly busyTimeout: number;
  /** Ends the waiting at once. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens the database of a data directory and brings its schema up to date. Directory and files are for their owner
 * alone.
 *
 * @throws {Failure} as `openSqliteStore` in `sqlite.ts` says
 */
export async function openDatabase(directory: string, path: string, waitOptions: WaitOptions): Promise<DatabaseSync> {
  await makePrivateDirectory(directory);
  await makePrivateFile(path);
  const { DatabaseSync } = await import("node:sqlite");
  return await whenFree(path, waitOptions, () => openOnce(DatabaseSync, path));
}

async function makePrivateDirectory(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists || error instanceof Deno.errors.NotADirectory) {
      throw new Failure("USAGE", `The data directory ${quote(path)} is a file, or lies in one: name a directory.`);
    }
    throw fileFailure(path, error);
  }
}

/** Makes the file before SQLite does, for its mode: the files that SQLite puts beside it take the same one. */
async function makePrivateFile(path: string): Promise<void> {
  try {
    const file = await Deno.open(path, { write: true, create: true, mode: 0o600 });
    file.close();
  } catch (error) {
    throw fileFailure(path, error);
  }
}

function openOnce(Database: typeof DatabaseSync, path: string): DatabaseSync {
  const database = new Database(path, { timeout: BUSY_TIMEOUT });
  try {
    // fullfsync: what "on disk" takes on macOS.
    database.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON");
    const version = inTransaction(database, "DEFERRED", () => schemaVersion(database, path));
    if (pragma(database, "journal_mode") !== "wal") database.exec("PRAGMA journal_mode = WAL");
    if (version < MIGRATIONS.length) inTransaction(database, "IMMEDIATE", () => migrate(database, path));
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function migrate(database: DatabaseSync, path: string): void {
  for (const step of MIGRATIONS.slice(schemaVersion(database, path))) database.exec(step);
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
}

/**
 * How many of the migrations a database has seen.
 *
 * @throws {Failure} `UNREACHABLE` when it is another program's or a newer version's
 */
function schemaVersion(database: DatabaseSync, path: string): number {
  const version = Number(pragma(database, "user_version"));
  if (pragma(database, "application_id") !== APPLICATION_ID) {
    if (version === 0 && database.prepare("SELECT 1 FROM sqlite_schema").get() === undefined) return 0;
    throw new Failure("UNREACHABLE", `${quote(path)} is another program's database. Choose another --data-dir.`);
  }
  if (version <= MIGRATIONS.length) return version;
  throw new Failure(
    "UNREACHABLE",
    `The store ${quote(path)} was written by a newer version of service-api (schema ${version}; this one knows ` +
      `${MIGRATIONS.length}). Use that version, or choose another --data-dir.`,
  );
}

function pragma(database: DatabaseSync, name: string): SQLOutputValue | undefined {
  return database.prepare(`PRAGMA ${name}`).get()?.[name];
}

/** Does `act` in one transaction, or, when it throws, nothing. */
export function inTransaction<Result>(
  database: DatabaseSync,
  kind: "DEFERRED" | "IMMEDIATE",
  act: () => Result,
): Result {
  database.exec(`BEGIN ${kind}`);
  try {
    const result = act();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/**
 * Does `act`, which changes nothing, again and again while another process holds the store.
 *
 * @throws {Failure} `TIMEOUT` or `INTERRUPTED` when the waiting ends; otherwise what went wrong
 */
export async function whenFree<Result>(path: string, waitOptions: WaitOptions, act: () => Result): Promise<Result> {
  const since = Date.now();
  for (;;) {
    try {
      return act();
    } catch (error) {
      const failure = isBusy(error) ? errorAfterWaiting(error, path, waitOptions, since) : storeFailure(path, error);
      if (failure !== undefined) throw failure;
    }
    // deno-lint-ignore no-await-in-loop -- it waits for its turn
    await pause();
  }
}

/**
 * Lets this process go on with other things while another one holds the store, which a longer busy timeout of SQLite
 * would not let it.
 */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * LONGEST_PAUSE));
}

/** What to tell whoever has waited for another process long enough; `undefined` while they are to go on waiting. */
export function errorAfterWaiting(
  busy: Error,
  path: string,
  { busyTimeout, signal }: WaitOptions,
  since: number,
): Failure | undefined {
  if (signal?.aborted) {
    return new Failure("INTERRUPTED", "Interrupted while another process held the store. Nothing was changed.");
  }
  return Date.now() < since + busyTimeout ? undefined : new Failure(
    "TIMEOUT",
    `Another process holds the store ${quote(path)}. Try again, or raise --timeout.`,
    { cause: busy },
  );
}

/** Whether SQLite says that another process holds the database. */
export function isBusy(error: unknown): error is Error {
  return isSqliteError(error) && error.message.includes("database is locked");
}

function isSqliteError(error: unknown): error is Error {
  return error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR";
}

/** What to do about the most likely reasons, by a piece of SQLite's or the system's own words for them. */
const REMEDIES: readonly (readonly [string, string])[] = [
  ["file is not a database", "The file is not an SQLite database: move it away, or choose another --data-dir."],
  ["malformed", "The file is damaged: restore it from a backup, or choose another --data-dir."],
  ["disk is full", "Nothing was changed. Free some space, or choose another --data-dir."],
  ["disk I/O error", "The disk may be full or failing."],
  ["No space left", "Nothing was changed. Free some space, or choose another --data-dir."],
];

/** What a user is to be told of an error of SQLite or the system; anything else stays what it is. */
export function storeFailure(path: string, error: unknown): unknown {
  if (!isSqliteError(error)) return error;
  return fileFailure(path, error);
}

function fileFailure(path: string, error: unknown): Failure {
  const reason = reasonOf(error);
  const remedy = REMEDIES.find(([words]) => reason.includes(words))?.[1] ??
    "It must be a file that this user can read and write, in a directory where it can make files.";
  return new Failure("UNREACHABLE", `Cannot use the store ${quote(path)}: ${reason}. ${remedy}`, { cause: error });
}
