/** Directories and stores that last as long as a test. */
import type { KeyStore } from "../../src/store/key_store.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";

/** Hands `test` a new directory and removes it, with all that is in it, however the test ends. */
export async function inTemporaryDirectory(test: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  try {
    await test(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Opens the store in a directory and closes it, however the test ends. */
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

/** Hands `test` a new store and the directory it is in. */
export function withNewStore(test: (store: KeyStore, directory: string) => Promise<void>): Promise<void> {
  return inTemporaryDirectory((directory) => withStoreIn(directory, (store) => test(store, directory)));
}
