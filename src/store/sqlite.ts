/**
 * Keys in an SQLite file that any number of processes of one machine may use at once: WAL, `synchronous=FULL`,
 * patience with one another, and `BEGIN IMMEDIATE` around whatever reads and then writes.
 */
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { Failure, quote, reasonOf } from "../apikey/failure.ts";
import { type Name, nameTaken, parseName } from "../apikey/name.ts";
import { parsePermissions } from "../apikey/permission.ts";
import { parseRoles } from "../apikey/role.ts";
import type { KeyStore, StoredKey } from "./key_store.ts";
import { APPLICATION_ID, MIGRATIONS } from "./migrations.ts";

export interface SqliteOptions {
  /** The data directory, made with mode 0700 if it is not there; the store is the file `keys.db` in it. */
  readonly directory: string;
  /** How long to wait for another process's transaction, in milliseconds. */
  readonly busyTimeout: number;
}

type Row = Record<string, SQLOutputValue>;

/**
 * Opens a store and brings its schema up to date.
 *
 * @throws {Failure} `USAGE` when the directory is a file; `UNREACHABLE` when the store cannot be made, read or
 * written, is no database, is another program's, or was written by a newer version; `TIMEOUT` when another
 * process holds it for too long
 */
export async function openSqliteStore({ directory, busyTimeout }: SqliteOptions): Promise<KeyStore> {
  const path = `${directory}/keys.db`;
  await makePrivateDirectory(directory);
  await makePrivateFile(path);
  const { DatabaseSync } = await import("node:sqlite");
  const database = await whenFree(path, busyTimeout, () => openDatabase(DatabaseSync, path));
  return new SqliteStore(database, path, busyTimeout);
}

async function makePrivateDirectory(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists || error instanceof Deno.errors.NotADirectory) {
      throw new Failure("USAGE", `The data directory ${quote(path)} is a file, or lies in one: name a directory.`);
    }
    throw storeFailure(path, error);
  }
}

/** Makes the file before SQLite does, for its mode: the files that SQLite puts beside it take the same one. */
async function makePrivateFile(path: string): Promise<void> {
  try {
    const file = await Deno.open(path, { write: true, create: true, mode: 0o600 });
    file.close();
  } catch (error) {
    throw storeFailure(path, error);
  }
}

function openDatabase(Database: typeof DatabaseSync, path: string): DatabaseSync {
  const database = new Database(path);
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

function inTransaction<Result>(
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
 * Does `act`, which changes everything or nothing, again and again while another process holds the store. In
 * between this process goes on with other things, which SQLite's own busy timeout would not let it.
 *
 * @throws {Failure} whatever went wrong; `TIMEOUT` after `busyTimeout` milliseconds
 */
async function whenFree<Result>(path: string, busyTimeout: number, act: () => Result): Promise<Result> {
  const deadline = Date.now() + busyTimeout;
  for (;;) {
    try {
      return act();
    } catch (error) {
      if (!isSqliteError(error)) throw error;
      if (!isBusy(error) || Date.now() >= deadline) throw storeFailure(path, error);
    }
    // deno-lint-ignore no-await-in-loop -- it waits for its turn
    await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * LONGEST_PAUSE));
  }
}

/** Between two tries, in milliseconds. */
const LONGEST_PAUSE = 10;

class SqliteStore implements KeyStore {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #busyTimeout: number;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync, path: string, busyTimeout: number) {
    this.#database = database;
    this.#path = path;
    this.#busyTimeout = busyTimeout;
  }

  add(key: StoredKey, overwrite: boolean): Promise<void> {
    return this.#attempt(() =>
      inTransaction(this.#database, "IMMEDIATE", () => {
        if (overwrite) {
          this.#prepared("DELETE FROM api_key WHERE name = ?").run(key.name);
        } else if (this.#prepared("SELECT 1 FROM api_key WHERE name = ?").get(key.name) !== undefined) {
          throw nameTaken(key.name);
        }
        this.#prepared(
          "INSERT INTO api_key (id, name, description, roles, permissions, created_at, secret_hash, secret_tail) " +
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        ).run(
          key.id,
          key.name,
          key.description,
          key.roles.join(","),
          key.permissions.join(","),
          key.createdAt.toISOString(),
          key.secretHash,
          key.secretTail,
        );
      })
    );
  }

  findBySecretHash(hash: Uint8Array): Promise<StoredKey | undefined> {
    return this.#find("SELECT * FROM api_key WHERE secret_hash = ?", hash);
  }

  findById(id: string): Promise<StoredKey | undefined> {
    return this.#find("SELECT * FROM api_key WHERE id = ?", id);
  }

  findByName(name: Name): Promise<StoredKey | undefined> {
    return this.#find("SELECT * FROM api_key WHERE name = ?", name);
  }

  list(): Promise<readonly StoredKey[]> {
    return this.#attempt(() =>
      this.#prepared("SELECT * FROM api_key ORDER BY number").all().map((row) => this.#toKey(row))
    );
  }

  isEmpty(): Promise<boolean> {
    return this.#attempt(() => this.#prepared("SELECT 1 FROM api_key LIMIT 1").get() === undefined);
  }

  remove(ids: readonly string[]): Promise<boolean> {
    const wanted = new Set(ids);
    return this.#attempt(() =>
      inTransaction(this.#database, "IMMEDIATE", () => {
        const find = this.#prepared("SELECT 1 FROM api_key WHERE id = ?");
        if ([...wanted].some((id) => find.get(id) === undefined)) return false;
        for (const id of wanted) this.#prepared("DELETE FROM api_key WHERE id = ?").run(id);
        return true;
      })
    );
  }

  close(): Promise<void> {
    return this.#attempt(() => this.#database.close());
  }

  #find(sql: string, parameter: SQLInputValue): Promise<StoredKey | undefined> {
    return this.#attempt(() => {
      const row = this.#prepared(sql).get(parameter);
      return row === undefined ? undefined : this.#toKey(row);
    });
  }

  #toKey(row: Row): StoredKey {
    try {
      return toKey(row);
    } catch (cause) {
      throw new Failure(
        "UNREACHABLE",
        `The store ${quote(this.#path)} is damaged: the key ${quote(String(row["id"]))} is not as it was written. ` +
          "Restore the file from a backup.",
        { cause },
      );
    }
  }

  #prepared(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  #attempt<Result>(act: () => Result): Promise<Result> {
    return whenFree(this.#path, this.#busyTimeout, act);
  }
}

function toKey(row: Row): StoredKey {
  const { description, secret_hash } = row;
  if (!(secret_hash instanceof Uint8Array)) throw new TypeError("secret_hash is not a blob");
  const createdAt = new Date(String(row["created_at"]));
  if (Number.isNaN(createdAt.getTime())) throw new TypeError("created_at is not a time");
  return {
    id: String(row["id"]),
    name: parseName(String(row["name"])),
    description: description === null || description === undefined ? null : String(description),
    roles: parseRoles(String(row["roles"])),
    permissions: parsePermissions(String(row["permissions"])),
    createdAt,
    secretHash: secret_hash,
    secretTail: String(row["secret_tail"]),
  };
}

function isSqliteError(error: unknown): error is Error {
  return error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR";
}

function isBusy(error: unknown): boolean {
  return isSqliteError(error) && error.message.includes("database is locked");
}

/** What to do about the most likely reasons, by a piece of SQLite's or the system's own words for them. */
const REMEDIES: readonly (readonly [string, string])[] = [
  ["file is not a database", "The file is not an SQLite database: move it away, or choose another --data-dir."],
  ["malformed", "The file is damaged: restore it from a backup, or choose another --data-dir."],
  ["disk is full", "Nothing was changed. Free some space, or choose another --data-dir."],
  ["disk I/O error", "The disk may be full or failing."],
  ["No space left", "Nothing was changed. Free some space, or choose another --data-dir."],
];

function storeFailure(path: string, error: unknown): Failure {
  const reason = reasonOf(error);
  if (isBusy(error)) {
    return new Failure("TIMEOUT", `Another process holds the store ${quote(path)}. Try again, or raise --timeout.`);
  }
  const remedy = REMEDIES.find(([words]) => reason.includes(words))?.[1] ??
    "It must be a file that this user can read and write, in a directory where it can make files.";
  return new Failure("UNREACHABLE", `Cannot use the store ${quote(path)}: ${reason}. ${remedy}`, { cause: error });
}
