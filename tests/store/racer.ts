/**
 * A program that takes as many of the names in its arguments as it can get in a store: `racer.ts sqlite DIRECTORY NAME…`
 * or `racer.ts postgres ADDRESS NAME…`. It says that it is ready, waits for the end of standard input, opens the store, and
 * prints what became of each name: `won`, or the code of the failure.
 */
import { Failure } from "../../src/apikey/failure.ts";
import { openPostgresStore } from "../../src/store/postgres.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { LOCAL, unlessTaken } from "./changes.ts";
import { newKey } from "./stored_key.ts";

const [engine, place = "", ...names] = Deno.args;
const keys = await Promise.all(names.map((name) => newKey(name)));
console.log("ready");
await new Response(Deno.stdin.readable).text();

const store = engine === "sqlite"
  ? await openSqliteStore({ directory: place, busyTimeout: 20_000 })
  : await openPostgresStore({ address: JSON.parse(place), timeout: 20_000 });
const outcomes = await Promise.all(keys.map(async (key) => {
  try {
    await store.add(key, LOCAL, unlessTaken);
    return "won";
  } catch (error) {
    return error instanceof Failure ? error.code : String(error);
  }
}));
await store.close();
for (const outcome of outcomes) console.log(outcome);
