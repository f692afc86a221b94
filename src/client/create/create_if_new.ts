/** Creates a key on a server that may return the existing key if the name is taken. */
import { Failure, quote, toSentence } from "../../apikey/failure.ts";
import { hasName, nameTaken } from "../../apikey/name.ts";
import type { Endpoint } from "../endpoint.ts";
import { deleteCommand, type IssuedKey } from "../key.ts";
import { findEarlierKey } from "./competing_keys.ts";
import { deleteWithRetries } from "./delete_with_retries.ts";
import { CREATE, CreatedWithErrors, type NewKey, requestKey } from "./create_request.ts";
import { existedBefore, type ExistingKey, listSecrets } from "./list_secrets.ts";
import { failureOf, forCleanUp, retryIfNotExecuted } from "../retry.ts";

/**
 * Creates a key if no key has its name. Compares it with a list of all keys, before and after. On a server that lags, the
 * comparison misses a key that becomes visible exactly between the first list and the creation.
 *
 * @throws {Failure} `ALREADY_EXISTS`, or any failure of {@linkcode execute}
 */
export async function createIfNew(endpoint: Endpoint, key: NewKey): Promise<IssuedKey> {
  const before = await listSecrets(endpoint);
  if (before.some((existing) => hasName(existing, key.name))) throw nameTaken(key.name);
  const created = await requestNew(endpoint, key, before);
  const earlier = await findEarlierKey(endpoint, created, key.name, []);
  if (earlier === undefined) return created;
  const failure = await failureOf(deleteWithRetries(forCleanUp(endpoint), [created]));
  if (failure === undefined) throw nameTaken(key.name);
  throw new Failure(
    "ALREADY_EXISTS",
    `Another caller created a key named ${quote(key.name)} at the same time (${earlier.id}). The new key ` +
      `(${created.id}) could not be deleted: ${toSentence(failure.message)} To delete it, run: ` +
      deleteCommand(created),
    { cause: failure },
  );
}

async function requestNew(
  endpoint: Endpoint,
  key: NewKey,
  before: readonly ExistingKey[],
): Promise<IssuedKey> {
  try {
    const created = await retryIfNotExecuted(endpoint, () => requestKey(endpoint, CREATE, key));
    if (!existedBefore(created, before)) return created;
  } catch (error) {
    if (!(error instanceof CreatedWithErrors && existedBefore(error.created, before))) throw error;
  }
  throw nameTaken(key.name);
}
