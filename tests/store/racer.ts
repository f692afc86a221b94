/**
 * A program that competes with other processes for names. Usage: `racer.ts sqlite DIRECTORY NAME…` or `racer.ts
 * postgres ADDRESS NAME…`, where ADDRESS is a `DatabaseAddress` in JSON. The program prints `ready`, waits until
 * standard input ends, opens the store, and tries to create a key with each name. For each name it prints `won`, the code
 * of the `Failure`, or the text of any other error.
 */
import { Failure } from "../../src/apikey/failure.ts";
import { openPostgresStore } from "../../src/store/postgres.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { LOCAL, rejectTakenName } from "./changes.ts";
import { newKey } from "./stored_key.ts";

const [engine, location = "", ...names] = Deno.args;
const keys = await Promise.all(names.map((name) => newKey(name)));
console.log("ready");
await new Response(Deno.stdin.readable).text();

const store = engine === "sqlite"
  ? await openSqliteStore({ directory: location, busyTimeout: 20_000 })
  : await openPostgresStore({ address: JSON.parse(location), timeout: 20_000 });
const outcomes = await Promise.all(keys.map(async (key) => {
  try {
    await store.add(key, LOCAL, rejectTakenName);
    return "won";
  } catch (error) {
    return error instanceof Failure ? error.code : String(error);
  }
}));
await store.close();
for (const outcome of outcomes) console.log(outcome);
