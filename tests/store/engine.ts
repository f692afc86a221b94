/** Lets the tests of `KeyStore` run on both database engines, SQLite and PostgreSQL. */
import type { KeyStore } from "../../src/store/key_store.ts";
import type { StoredKey } from "../../src/store/stored_key.ts";
import type { RacerOptions } from "./racers.ts";

export interface Engine {
  /** The prefix of test names. */
  readonly name: string;
  /** How many older schemas the engine can migrate. */
  readonly olderSchemas: number;
  /** Runs `test` with a new, empty location, and removes the location afterwards. */
  readonly withNewLocation: (test: (location: Location) => Promise<void>) => Promise<void>;
}

/** A data directory or a database. */
export interface Location {
  /** Opens a store on this data. Several stores may be open at once. */
  readonly open: () => Promise<KeyStore>;
  /** Opens a store on this data as commands do: without creating or migrating it. */
  readonly openOnDemand: () => Promise<KeyStore>;
  /** Creates a store with an older schema that contains one key. The first schema is 1. */
  readonly createOlder: (schema: number, key: StoredKey) => Promise<void>;
  /** Makes the store look as if a newer version had migrated it. */
  readonly markAsNewer: () => Promise<void>;
  /** Returns everything that is stored at this location. The value is the same if nothing was created or changed. */
  readonly contents: () => Promise<unknown>;
  /** Runs SQL on the data, as another program with all database rights would. */
  readonly execute: (sql: string) => Promise<void>;
  /** How to start other processes that open a store on this data. */
  readonly racer: RacerOptions;
}

/** Runs `test` with a new store. */
export function withNewStore(
  engine: Engine,
  test: (store: KeyStore, location: Location) => Promise<void>,
): Promise<void> {
  return engine.withNewLocation((location) => withStore(location, (store) => test(store, location)));
}

/** Runs `test` with two stores on the same new data. */
export function withTwoStores(
  engine: Engine,
  test: (one: KeyStore, two: KeyStore, location: Location) => Promise<void>,
): Promise<void> {
  return withNewStore(engine, (one, location) => withStore(location, (two) => test(one, two, location)));
}

/** Runs `test` with a store at a location, and closes the store afterwards. */
export async function withStore(location: Location, test: (store: KeyStore) => Promise<void>): Promise<void> {
  const store = await location.open();
  try {
    await test(store);
  } finally {
    await store.close();
  }
}
