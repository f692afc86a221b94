/** Runs tests with temporary directories and stores. */
import type { KeyStore } from "../../src/store/key_store.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";

/** Runs `test` with a new directory, and removes the directory with its contents afterwards. */
export async function inTemporaryDirectory(test: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  try {
    await test(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Runs `test` with the store in a directory, and closes the store afterwards. */
export async function withStoreIn(
  directory: string,
  test: (store: KeyStore) => Promise<void>,
  busyTimeout = 5_000,
): Promise<void> {
  const store = await openSqliteStore({ directory, busyTimeout });
  try {
    await test(store);
  } finally {
    await store.close();
  }
}

/** Runs `test` with a new store and its directory, and removes both afterwards. */
export function withNewStore(test: (store: KeyStore, directory: string) => Promise<void>): Promise<void> {
  return inTemporaryDirectory((directory) => withStoreIn(directory, (store) => test(store, directory)));
}
