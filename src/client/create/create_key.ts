/** Creates a key. */
import type { Endpoint } from "../endpoint.ts";
import { withFallback } from "../execute.ts";
import { createIfNew } from "./create_if_new.ts";
import { CREATE_ON_EMBEDDED, type CreatedKey, type NewKey, requestKey } from "./create_request.ts";
import { replaceKey } from "./replace_key.ts";

/**
 * Creates a key. Never returns a key or a secret that existed before. The embedded server does this in one transaction.
 * Other servers may return the existing key if the name is taken, so they need several requests.
 *
 * @throws {Failure} `ALREADY_EXISTS`, or any failure of {@linkcode execute}; no key was created or deleted unless the
 * message says that it was or may have been
 */
export async function createKey(endpoint: Endpoint, key: NewKey): Promise<CreatedKey> {
  return await withFallback(
    () => requestKey(endpoint, CREATE_ON_EMBEDDED, key),
    () => (key.overwrite ? replaceKey : createIfNew)(endpoint, key),
  );
}
