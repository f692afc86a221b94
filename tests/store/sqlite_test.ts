/** Runs on SQLite the tests that every `KeyStore` must pass. */
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { testAuditTrail } from "./audit_trail_contract.ts";
import type { Engine } from "./engine.ts";
import { testKeys } from "./key_store_contract.ts";
import { testRaces } from "./race_contract.ts";
import { sqliteRacer } from "./racers.ts";
import { inTemporaryDirectory } from "./temporary_store.ts";

function sqlite(name: string, beforeCommit?: () => Promise<void>): Engine {
  return {
    name,
    withNewLocation: (test) =>
      inTemporaryDirectory((directory) =>
        test({
          open: () => openSqliteStore({ directory, busyTimeout: 30_000, beforeCommit }),
          execute: (sql) => {
            using database = new DatabaseSync(`${directory}/keys.db`);
            return Promise.try(() => database.exec(sql));
          },
          racer: sqliteRacer(directory),
        })
      ),
  };
}

testKeys(sqlite("SQLite"));
testAuditTrail(sqlite("SQLite"));
testRaces(sqlite("SQLite"));
// `serve` opens the store with an equivalent `beforeCommit`.
testRaces(sqlite("SQLite with grouped commits", () => new Promise((resolve) => setImmediate(resolve))));
