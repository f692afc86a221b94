/**
 * Opens the SQLite database file. If needed, creates the file so that only its owner can access it, and migrates its
 * schema. Waits for locks held by other processes, and explains errors of SQLite and the file system.
 */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { Failure, quote, reasonOf } from "../apikey/failure.ts";
import { APPLICATION_ID, OLDER_SQLITE_VIEWS, SQLITE_MIGRATIONS as MIGRATIONS } from "./sqlite_migrations.ts";

/** How long SQLite itself waits for a lock, in milliseconds. The wait is short, because it blocks the whole process. */
const BUSY_TIMEOUT = 5;

/** How much the random delay between two attempts varies, in milliseconds. */
const DELAY_RANGE = 10;

/** How to wait for locks held by other processes. */
export interface WaitOptions {
  /** How long to wait for a lock, in milliseconds. */
  readonly busyTimeout: number;
  /** Aborting this signal ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called each time another process holds a lock. */
  readonly onBusy?: (() => void) | undefined;
}

/**
 * Opens the database file of a data directory and migrates its schema. If the directory or the file is missing, creates
 * it with a mode that gives access only to its owner: 0700 for the directory, 0600 for the file.
 *
 * @throws {Failure} the failures that `openSqliteStore` in `sqlite.ts` lists
 */
export async function openDatabase(directory: string, path: string, waitOptions: WaitOptions): Promise<DatabaseSync> {
  if (!await fileExists(directory, path)) {
    await createPrivateDirectory(directory);
    await createPrivateFile(path);
  }
  const { DatabaseSync } = await import("node:sqlite");
  return await retryWhileBusy(path, waitOptions, () =>
    openOnce(DatabaseSync, path, (database, version) => {
      useWal(database);
      if (version < MIGRATIONS.length) inTransaction(database, "IMMEDIATE", () => migrate(database, path));
      return database;
    }));
}

/** How to open a database without changing it. */
export interface ExistingOptions extends WaitOptions {
  /**
   * Whether to wait until no other process has the database open, and to keep other processes out until it is closed.
   * The database must then be locked with `BEGIN EXCLUSIVE`.
   */
  readonly isExclusive?: boolean;
}

/** A database that was opened without changing it. */
export interface ExistingDatabase {
  readonly database: DatabaseSync;
  /** Whether the schema is older than the current schema. The store can then only be read. */
  readonly isOlder: boolean;
}

/**
 * Opens the database file without creating or migrating anything.
 *
 * @returns `undefined` if the file is missing or is an empty database
 * @throws {Failure} the failures that `openSqliteStore` in `sqlite.ts` lists
 */
export async function openExistingDatabase(
  directory: string,
  path: string,
  options: ExistingOptions,
): Promise<ExistingDatabase | undefined> {
  if (!await fileExists(directory, path)) return undefined;
  const { DatabaseSync } = await import("node:sqlite");
  const { isExclusive = false } = options;
  return await retryWhileBusy(path, options, () =>
    openOnce(DatabaseSync, path, (database, version) => {
      if (version === 0) return void database.close();
      const isOlder = version < MIGRATIONS.length;
      if (isOlder) database.exec(OLDER_SQLITE_VIEWS[version - 1] ?? "");
      else if (!isExclusive) useWal(database);
      return { database, isOlder };
    }, isExclusive ? "EXCLUSIVE" : "NORMAL"));
}

/**
 * Checks that the file can be written, because SQLite would open it for reading only, and then fail without a reason.
 *
 * @returns whether the file exists
 * @throws {Failure} `USAGE` if the directory is a file or is inside a file
 * @throws {Failure} `UNREACHABLE` if the path is not a regular file that the user can read and write
 */
async function fileExists(directory: string, path: string): Promise<boolean> {
  try {
    // Opening a named pipe would block the whole program until another process opens it.
    const { isFile } = await Deno.stat(path);
    if (!isFile) {
      throw new Failure(
        "UNREACHABLE",
        `Cannot use the store ${quote(path)}: it is not a regular file. Move it away, or choose another --data-dir.`,
      );
    }
    (await Deno.open(path, { read: true, write: true })).close();
    return true;
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (error instanceof Deno.errors.NotFound) return false;
    throw error instanceof Deno.errors.NotADirectory ? directoryIsFile(directory) : fileFailure(path, error);
  }
}

async function createPrivateDirectory(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists || error instanceof Deno.errors.NotADirectory) {
      throw directoryIsFile(path);
    }
    throw fileFailure(path, error);
  }
}

function directoryIsFile(path: string): Failure {
  return new Failure("USAGE", `The data directory ${quote(path)} is a file, or is inside one. Choose a directory.`);
}

/**
 * Creates the file with mode 0600 if it is missing. SQLite itself would create it with a wider mode. SQLite gives the
 * mode of this file to the other files that it creates.
 */
async function createPrivateFile(path: string): Promise<void> {
  try {
    const file = await Deno.open(path, { write: true, create: true, mode: 0o600 });
    file.close();
  } catch (error) {
    throw fileFailure(path, error);
  }
}

/**
 * Opens the database, checks that it belongs to this program, and passes it with its schema version to `prepare`. Closes
 * the database if anything fails.
 */
function openOnce<Result>(
  Database: typeof DatabaseSync,
  path: string,
  prepare: (database: DatabaseSync, version: number) => Result,
  lockingMode: "NORMAL" | "EXCLUSIVE" = "NORMAL",
): Result {
  const database = new Database(path, { timeout: BUSY_TIMEOUT });
  try {
    // In WAL mode, only a connection that is exclusive from the start fails while another process has the file open.
    if (lockingMode === "EXCLUSIVE") database.exec("PRAGMA locking_mode = EXCLUSIVE");
    // Without fullfsync, macOS reports data as written while the data is still in the cache of the disk.
    database.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON");
    return prepare(database, inTransaction(database, "DEFERRED", () => schemaVersion(database, path)));
  } catch (error) {
    database.close();
    throw error;
  }
}

function useWal(database: DatabaseSync): void {
  if (pragma(database, "journal_mode") !== "wal") database.exec("PRAGMA journal_mode = WAL");
}

function migrate(database: DatabaseSync, path: string): void {
  for (const step of MIGRATIONS.slice(schemaVersion(database, path))) database.exec(step);
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
}

/**
 * Returns the number of migrations that ran on a database.
 *
 * @throws {Failure} `UNREACHABLE` if the database belongs to another program or was written by a newer version
 */
function schemaVersion(database: DatabaseSync, path: string): number {
  const version = Number(pragma(database, "user_version"));
  if (pragma(database, "application_id") !== APPLICATION_ID) {
    if (version === 0 && database.prepare("SELECT 1 FROM sqlite_schema").get() === undefined) return 0;
    throw new Failure("UNREACHABLE", `${quote(path)} belongs to another program. Choose another --data-dir.`);
  }
  requireKnownSchema(version, path);
  return version;
}

/**
 * Throws if a newer version of this program has migrated the database.
 *
 * @param version the `user_version` of the database
 * @throws {Failure} `UNREACHABLE`
 */
export function requireKnownSchema(version: unknown, path: string): void {
  if (Number(version) <= MIGRATIONS.length) return;
  throw new Failure(
    "UNREACHABLE",
    `The store ${quote(path)} was written by a newer version of service-api (schema ${version}; this version ` +
      `supports ${MIGRATIONS.length}). Upgrade service-api, or choose another --data-dir.`,
  );
}

function pragma(database: DatabaseSync, name: string): SQLOutputValue | undefined {
  return database.prepare(`PRAGMA ${name}`).get()?.[name];
}

/** Runs `act` in a transaction, and rolls back if it throws. */
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
 * Runs `act`. While another process keeps the database locked, runs it again.
 *
 * @param act must have no effect if it throws
 * @throws {Failure} `TIMEOUT` if the database stays locked for `busyTimeout`
 * @throws {Failure} `INTERRUPTED` if `signal` is aborted while the database is locked
 * @throws {Failure} `UNREACHABLE` for any other error of SQLite
 * @throws what `act` throws
 */
export async function retryWhileBusy<Result>(
  path: string,
  waitOptions: WaitOptions,
  act: () => Result,
): Promise<Result> {
  const since = performance.now();
  for (;;) {
    try {
      return act();
    } catch (error) {
      const failure = isBusy(error) ? waitFailure(error, path, waitOptions, since) : storeFailure(path, error);
      if (failure !== undefined) throw failure;
    }
    // deno-lint-ignore no-await-in-loop -- waits for another process to release its lock
    await randomDelay();
  }
}

/** Waits a few milliseconds before the next attempt. Meanwhile, the process can handle other requests. */
export function randomDelay(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * DELAY_RANGE));
}

/**
 * Returns the failure that ends a wait for another process; `undefined` if the wait may continue.
 *
 * @param since when the wait began, by `performance.now`
 */
export function waitFailure(
  busy: Error,
  path: string,
  { busyTimeout, signal, onBusy }: WaitOptions,
  since: number,
): Failure | undefined {
  onBusy?.();
  if (signal?.aborted) {
    return new Failure(
      "INTERRUPTED",
      "Interrupted while waiting for another process that uses the store. Nothing was changed.",
    );
  }
  return performance.now() < since + busyTimeout ? undefined : new Failure(
    "TIMEOUT",
    `Another process has locked the store ${quote(path)}. Try again. For commands other than serve, you can also ` +
      "raise --timeout.",
    { cause: busy },
  );
}

/** Returns whether an error of SQLite says that another process has locked the database. */
export function isBusy(error: unknown): error is Error {
  return isSqliteError(error) && error.message.includes("database is locked");
}

function isSqliteError(error: unknown): error is Error {
  return error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR";
}

/** Advice for errors. Each entry begins with a part of the error message from SQLite or the operating system. */
const REMEDIES: readonly (readonly [string, string])[] = [
  ["file is not a database", "The file is not an SQLite database. Move it away, or choose another --data-dir."],
  ["malformed", "The file is damaged. Restore it from a backup, or choose another --data-dir."],
  ["disk is full", "Nothing was changed. Free some disk space, or choose another --data-dir."],
  ["disk I/O error", "The disk may be full or failing. Check the disk."],
  ["no such", "A newer version of service-api may have migrated the store. Upgrade service-api."],
  ["No space left", "Nothing was changed. Free some disk space, or choose another --data-dir."],
];

/** Turns an error of SQLite into a `Failure` that explains it to the user. Returns any other error unchanged. */
export function storeFailure(path: string, error: unknown): unknown {
  if (!isSqliteError(error)) return error;
  return fileFailure(path, error);
}

function fileFailure(path: string, error: unknown): Failure {
  const reason = reasonOf(error);
  const remedy = REMEDIES.find(([part]) => reason.includes(part))?.[1] ??
    "The current user must be able to read and write this path, and to create files in its parent directory.";
  return new Failure("UNREACHABLE", `Cannot use the store ${quote(path)}: ${reason}. ${remedy}`, { cause: error });
}
