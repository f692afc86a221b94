/** Fills an empty SQLite store. */
import type { DatabaseSync } from "node:sqlite";
import { quote } from "../../apikey/failure.ts";
import {
  openDatabase,
  openExistingDatabase,
  retryWhileBusy,
  storeFailure,
  type WaitOptions,
} from "../sqlite_database.ts";
import { olderDestination } from "./older_destination.ts";
import type { Destination, Fill, Table, Values } from "./tables.ts";

const REMEDY = "Choose another --data-dir.";

/**
 * Opens the store in a directory, creates it if it is missing, and fills it in one transaction.
 *
 * @throws {Failure} `FAILED` if the store has an older schema
 * @throws {Failure} `UNREACHABLE` or `TIMEOUT` if the store cannot be used
 * @throws what `fill` throws
 */
export async function fillSqlite(directory: string, waitOptions: WaitOptions, fill: Fill): Promise<void> {
  const path = `${directory}/keys.db`;
  const existing = await openExistingDatabase(directory, path, waitOptions);
  existing?.database.close();
  if (existing?.isOlder) throw olderDestination(quote(path), REMEDY);
  const database = await openDatabase(directory, path, waitOptions);
  try {
    await retryWhileBusy(path, waitOptions, () => database.exec("BEGIN IMMEDIATE"));
    await fill(destinationIn(database, path));
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw storeFailure(path, error);
  } finally {
    database.close();
  }
}

function destinationIn(database: DatabaseSync, path: string): Destination {
  return {
    label: quote(path),
    remedy: REMEDY,
    count: ({ name }) =>
      Promise.resolve(Number(database.prepare(`SELECT count(*) AS number FROM ${name}`).get()?.["number"])),
    insert: (table, rows) => Promise.resolve(insert(database, table, rows)),
    finish: (lastEventId) => {
      database.exec("UPDATE resource_list SET revision = revision + 1");
      database.exec("DELETE FROM sqlite_sequence WHERE name = 'audit_event'");
      database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('audit_event', ?)").run(lastEventId);
      return Promise.resolve();
    },
  };
}

function insert(database: DatabaseSync, { name, columns }: Table, rows: readonly Values[]): void {
  const placeholders = columns.map(() => "?").join(", ");
  const statement = database.prepare(`INSERT INTO ${name} (${columns.join(", ")}) VALUES (${placeholders})`);
  for (const row of rows) statement.run(...row);
}
