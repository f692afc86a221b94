/** Stores in a PostgreSQL database that last as long as a test, or cannot be opened. */
import type { Failure } from "../../src/apikey/failure.ts";
import type { KeyStore } from "../../src/store/key_store.ts";
import { openPostgresStore } from "../../src/store/postgres.ts";
import type { DatabaseAddress } from "../../src/store/postgres_database.ts";
import { failureOfPromise } from "../apikey/failure_of.ts";

/** Opens the store at an address and closes it, however the test ends. */
export async function withStoreAt(
  address: DatabaseAddress,
  test: (store: KeyStore) => Promise<void>,
  timeout = 10_000,
): Promise<void> {
  const store = await openPostgresStore({ address, timeout });
  try {
    await test(store);
  } finally {
    await store.close();
  }
}

/** The failure to open the store at an address. */
export function refusalAt(address: DatabaseAddress, timeout = 10_000): Promise<Failure> {
  return failureOfPromise(openPostgresStore({ address, timeout }).then((store) => store.close()));
}
