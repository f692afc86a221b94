/** Deletes keys on a server that lags. */
import { Failure } from "../../apikey/failure.ts";
import { deleteKeys } from "../delete_keys.ts";
import type { Endpoint } from "../endpoint.ts";
import type { KeyReference } from "../key.ts";
import { retry } from "../retry.ts";

/**
 * Deletes keys. While the request fails temporarily, repeats it for up to 3 s: the server may not know a new key yet.
 *
 * @throws {Failure} if the server does not confirm the deletion; it may have deleted the keys
 */
export async function deleteWithRetries(endpoint: Endpoint, keys: readonly KeyReference[]): Promise<void> {
  await retry(endpoint, async () => {
    if (await deleteKeys(endpoint, keys)) return;
    throw new Failure("FAILED", `${endpoint.label} did not confirm the deletion and gave no reason.`);
  });
}
