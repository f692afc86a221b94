/**
 * Keys in an SQLite file that any number of processes of one machine may use at once: WAL, `synchronous=FULL`,
 * patience with one another, and `BEGIN IMMEDIATE` around whatever reads and then writes.
 */
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { Failure, quote } from "../apikey/failure.ts";
import { type Name, nameTaken, parseName } from "../apikey/name.ts";
import { parsePermissions } from "../apikey/permission.ts";
import { parseRoles } from "../apikey/role.ts";
import type { KeyStore, StoredKey } from "./key_store.ts";
import { inTransaction, openDatabase, type Patience, whenFree } from "./sqlite_database.ts";

export interface SqliteOptions extends Patience {
  /** The data directory, made with mode 0700 if it is not there; the store is the file `keys.db` in it. */
  readonly directory: string;
}

type Row = Record<string, SQLOutputValue>;

/**
 * Opens a store and brings its schema up to date.
 *
 * @throws {Failure} `USAGE` when the directory is a file; `UNREACHABLE` when the store cannot be made, read or
 * written, is no database, is another program's, or was written by a newer version; `TIMEOUT` when another
 * process holds it for too long; `INTERRUPTED`
 */
export async function openSqliteStore({ directory, ...patience }: SqliteOptions): Promise<KeyStore> {
  const path = `${directory}/keys.db`;
  return new SqliteStore(await openDatabase(directory, path, patience), path, patience);
}

class SqliteStore implements KeyStore {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #patience: Patience;
  #lastWrite = Promise.resolve();
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync, path: string, patience: Patience) {
    this.#database = database;
    this.#path = path;
    this.#patience = patience;
  }

  add(key: StoredKey, overwrite: boolean): Promise<void> {
    return this.#write(() => {
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
    });
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
    return this.#write(() => {
      const find = this.#prepared("SELECT 1 FROM api_key WHERE id = ?");
      if ([...wanted].some((id) => find.get(id) === undefined)) return false;
      for (const id of wanted) this.#prepared("DELETE FROM api_key WHERE id = ?").run(id);
      return true;
    });
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

  /** Writes take turns: many that wait for another process at once would leave this one no time for reading. */
  #write<Result>(act: () => Result): Promise<Result> {
    const since = Date.now();
    const transaction = (): Result => inTransaction(this.#database, "IMMEDIATE", act);
    const result = this.#lastWrite.then(() => whenFree(this.#path, this.#patience, transaction, since));
    this.#lastWrite = result.then(() => {}, () => {});
    return result;
  }

  #attempt<Result>(act: () => Result): Promise<Result> {
    return whenFree(this.#path, this.#patience, act);
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
