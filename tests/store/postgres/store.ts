/** Opens PostgreSQL stores for tests. */
import type { Failure } from "../../../src/apikey/failure.ts";
import type { KeyStore } from "../../../src/store/key_store.ts";
import { openPostgresStore } from "../../../src/store/postgres.ts";
import type { DatabaseAddress } from "../../../src/store/postgres_database.ts";
import { failureOfPromise } from "../../apikey/failure_of.ts";
import type { PostgresServer } from "./server.ts";

/** Runs `test` with the store at an address, and closes the store afterwards. */
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

/** Returns the failure of opening the store at an address. */
export function failureAt(address: DatabaseAddress, timeout = 10_000): Promise<Failure> {
  return failureOfPromise(openPostgresStore({ address, timeout }).then((store) => store.close()));
}

/** Runs SQL in a transaction, keeps the transaction open while `test` runs, and then rolls it back. */
export function whileLocked(
  server: PostgresServer,
  name: string,
  sql: string,
  test: () => Promise<void>,
): Promise<void> {
  return server.as("service", name, async (run) => {
    await run(`BEGIN; ${sql}`);
    await test();
    await run("ROLLBACK");
  });
}
