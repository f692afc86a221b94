/** The engines that the contract of `KeyStore` is checked on. */
import type { KeyStore } from "../../src/store/key_store.ts";
import type { RacerOptions } from "./racers.ts";

export interface Engine {
  /** How the names of tests call it. */
  readonly name: string;
  /** Hands `test` a place for the data of a store, where nothing is yet, and takes it away however the test ends. */
  readonly withNewPlace: (test: (place: Place) => Promise<void>) => Promise<void>;
}

export interface Place {
  /** Opens a store there, one of any number. */
  readonly open: () => Promise<KeyStore>;
  /** Runs SQL there as another program would, with the right to do anything. */
  readonly execute: (sql: string) => Promise<void>;
  /** How other processes use it. */
  readonly racer: RacerOptions;
}

/** Hands `test` a new store. */
export function withNewStore(engine: Engine, test: (store: KeyStore, place: Place) => Promise<void>): Promise<void> {
  return engine.withNewPlace((place) => withStore(place, (store) => test(store, place)));
}

/** Hands `test` two stores on the same new data. */
export function withTwoStores(
  engine: Engine,
  test: (one: KeyStore, two: KeyStore, place: Place) => Promise<void>,
): Promise<void> {
  return withNewStore(engine, (one, place) => withStore(place, (two) => test(one, two, place)));
}

/** Opens the store of a place, and closes it however the test ends. */
export async function withStore(place: Place, test: (store: KeyStore) => Promise<void>): Promise<void> {
  const store = await place.open();
  try {
    await test(store);
  } finally {
    await store.close();
  }
}
