/** Runs on SQLite the tests that every `KeyStore` must pass. */
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers";
import { APPLICATION_ID, SQLITE_MIGRATIONS } from "../../src/store/sqlite_migrations.ts";
import { openSqliteStore, openSqliteStoreOnDemand } from "../../src/store/sqlite.ts";
import { testAuditTrail } from "./audit_trail_contract.ts";
import type { Engine, Location } from "./engine.ts";
import { testKeys } from "./key_store_contract.ts";
import { insertIntoOlder } from "./older_schema.ts";
import { testOpening } from "./opening_contract.ts";
import { testPages } from "./page_contract.ts";
import { testUpdates } from "./update_contract.ts";
import { testResources } from "./resource_contract.ts";
import { testRaces } from "./race_contract.ts";
import { sqliteRacer } from "./racers.ts";
import { inTemporaryDirectory } from "./temporary_store.ts";

function sqlite(name: string, nextTurn?: () => Promise<void>): Engine {
  return {
    name,
    olderSchemas: SQLITE_MIGRATIONS.length - 1,
    withNewLocation: (test) => inTemporaryDirectory((parent) => test(locationAt(`${parent}/store`, nextTurn))),
  };
}

function locationAt(directory: string, nextTurn?: () => Promise<void>): Location {
  const path = `${directory}/keys.db`;
  const execute = (sql: string): Promise<void> => {
    using database = new DatabaseSync(path);
    return Promise.try(() => database.exec(sql));
  };
  return {
    open: () => openSqliteStore({ directory, busyTimeout: 30_000, nextTurn }),
    openOnDemand: () => openSqliteStoreOnDemand({ directory, busyTimeout: 30_000, nextTurn }),
    createOlder: async (schema, key) => {
      await Deno.mkdir(directory);
      await execute([
        ...SQLITE_MIGRATIONS.slice(0, schema),
        `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${schema}`,
        insertIntoOlder("api_key", schema < 3 ? "secret_hash" : "secret_sha256", key, (hex) => `x'${hex}'`),
      ].join(";"));
    },
    markAsNewer: () => execute(`PRAGMA user_version = ${SQLITE_MIGRATIONS.length + 1}`),
    contents: async () => {
      const files = await Array.fromAsync(Deno.readDir(directory), ({ name }) => name).catch(() => "no directory");
      return [files, await Deno.readFile(path).catch(() => "no file")];
    },
    execute,
    racer: sqliteRacer(directory),
  };
}

testKeys(sqlite("SQLite"));
testUpdates(sqlite("SQLite"));
testPages(sqlite("SQLite"));
testAuditTrail(sqlite("SQLite"));
testRaces(sqlite("SQLite"));
testOpening(sqlite("SQLite"));
testResources(sqlite("SQLite"));
// `serve` opens the store with an equivalent `nextTurn`.
testRaces(sqlite("SQLite with grouped commits", () => new Promise((resolve) => setImmediate(resolve))));
