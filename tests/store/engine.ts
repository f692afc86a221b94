/** The engines that the contract of `KeyStore` is tested on. */
import type { KeyStore } from "../../src/store/key_store.ts";
import type { RacerOptions } from "./racers.ts";

export interface Engine {
  /** Its name in the names of tests. */
  readonly name: string;
  /** Runs `test` with a new, empty location, and removes it afterwards. */
  readonly withNewLocation: (test: (location: Location) => Promise<void>) => Promise<void>;
}

/** A place for the data of stores. */
export interface Location {
  /** Opens a store on the data. Any number may be open. */
  readonly open: () => Promise<KeyStore>;
  /** Runs SQL on the data as another program would, with all rights. */
  readonly execute: (sql: string) => Promise<void>;
  /** How other processes open the store. */
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

/** Runs `test` with a store of a location, and closes it afterwards. */
export async function withStore(location: Location, test: (store: KeyStore) => Promise<void>): Promise<void> {
  const store = await location.open();
  try {
    await test(store);
  } finally {
    await store.close();
  }
}
