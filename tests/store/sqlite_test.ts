/** Runs on SQLite the tests that every `KeyStore` must pass. */
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers";
import { SQLITE_MIGRATIONS } from "../../src/store/migrations.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { testAuditTrail } from "./audit_trail_contract.ts";
import type { Engine, Location } from "./engine.ts";
import { testKeys } from "./key_store_contract.ts";
import { testOpening } from "./opening_contract.ts";
import { testRaces } from "./race_contract.ts";
import { sqliteRacer } from "./racers.ts";
import { inTemporaryDirectory } from "./temporary_store.ts";

function sqlite(name: string, beforeCommit?: () => Promise<void>): Engine {
  return {
    name,
    withNewLocation: (test) => inTemporaryDirectory((parent) => test(locationAt(`${parent}/store`, beforeCommit))),
  };
}

function locationAt(directory: string, beforeCommit?: () => Promise<void>): Location {
  const path = `${directory}/keys.db`;
  const execute = (sql: string): Promise<void> => {
    using database = new DatabaseSync(path);
    return Promise.try(() => database.exec(sql));
  };
  return {
    open: () => openSqliteStore({ directory, busyTimeout: 30_000, beforeCommit }),
    markAsNewer: () => execute(`PRAGMA user_version = ${SQLITE_MIGRATIONS.length + 1}`),
    execute,
    racer: sqliteRacer(directory),
  };
}

testKeys(sqlite("SQLite"));
testAuditTrail(sqlite("SQLite"));
testRaces(sqlite("SQLite"));
testOpening(sqlite("SQLite"));
// `serve` opens the store with an equivalent `beforeCommit`.
testRaces(sqlite("SQLite with grouped commits", () => new Promise((resolve) => setImmediate(resolve))));
