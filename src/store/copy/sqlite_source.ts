/** Reads an SQLite store that no other process has open. */
import type { DatabaseSync } from "node:sqlite";
import { Failure, quote } from "../../apikey/failure.ts";
import { openExistingDatabase, retryWhileBusy, storeFailure, type WaitOptions } from "../sqlite_database.ts";
import { type RowCounts, type Table, TABLES, type Values } from "./tables.ts";

/** How many rows are in memory at once. */
const BATCH = 1000;

/** How long another command may have the store open, in milliseconds. `serve` has it open until it ends. */
const SOURCE_WAIT: WaitOptions = { busyTimeout: 1000 };

/**
 * Opens the store in a directory. Until it is closed, no other process can use the store.
 *
 * @throws {Failure} `USAGE` if the directory has no store
 * @throws {Failure} `FAILED` if the store has an older schema
 * @throws {Failure} `TIMEOUT` if another process has the store open
 * @throws {Failure} `UNREACHABLE` if the store cannot be read
 */
export async function openSource(directory: string): Promise<Source> {
  const path = `${directory}/keys.db`;
  try {
    const options = { ...SOURCE_WAIT, isExclusive: true };
    const { database, isOlder } = await openExistingDatabase(directory, path, options) ?? missing(path);
    try {
      if (isOlder) throw olderSource(path);
      await retryWhileBusy(path, SOURCE_WAIT, () => database.exec("BEGIN EXCLUSIVE"));
      return new Source(database, path);
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    throw error instanceof Failure && error.code === "TIMEOUT" ? inUse(path, error) : error;
  }
}

export class Source {
  readonly counts: RowCounts;
  /** The highest id of an audit event that the store has ever used; 0 if none. */
  readonly lastEventId: number;
  readonly #database: DatabaseSync;
  readonly #path: string;

  constructor(database: DatabaseSync, path: string) {
    this.#database = database;
    this.#path = path;
    const [resources = 0, keys = 0, auditEvents = 0] = TABLES.map(({ name }) =>
      this.#number(`SELECT count(*) AS number FROM ${name}`)
    );
    this.counts = { keys, resources, auditEvents };
    this.lastEventId = this.#number("SELECT max(seq) AS number FROM sqlite_sequence WHERE name = 'audit_event'");
  }

  /** Reads the rows of a table in batches. */
  *read({ name, columns }: Table): Generator<readonly Values[]> {
    let batch: Values[] = [];
    try {
      const statement = this.#database.prepare(`SELECT ${columns.join(", ")} FROM ${name} ORDER BY ${columns[0]}`);
      for (const row of statement.iterate()) {
        batch.push(columns.map((column) => row[column] ?? null));
        if (batch.length < BATCH) continue;
        yield batch;
        batch = [];
      }
    } catch (error) {
      throw storeFailure(this.#path, error);
    }
    if (batch.length > 0) yield batch;
  }

  close(): void {
    this.#database.close();
  }

  #number(sql: string): number {
    return Number(this.#database.prepare(sql).get()?.["number"] ?? 0);
  }
}

function missing(path: string): never {
  throw new Failure("USAGE", `There is no store ${quote(path)}. --from takes the directory that contains keys.db.`);
}

function olderSource(path: string): Failure {
  return new Failure(
    "FAILED",
    `An older version of service-api created the store ${quote(path)}. Start this version of service-api serve with ` +
      "the store, which migrates it. Stop it, and copy the store again.",
  );
}

function inUse(path: string, cause: Failure): Failure {
  return new Failure(
    "TIMEOUT",
    `Another process uses the store ${quote(path)}, and its changes would be lost. Stop service-api serve and all ` +
      "commands that use the store. Then copy it again.",
    { cause },
  );
}
