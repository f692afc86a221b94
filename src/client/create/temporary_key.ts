/** The new key under its temporary name, while it replaces an old key. */
import { Failure, quote } from "../../apikey/failure.ts";
import type { Endpoint } from "../endpoint.ts";
import { deleteCommand, type IssuedKey, type KeyReference } from "../key.ts";
import { listReferences } from "../list_keys.ts";
import { MAYBE_EXECUTED } from "../network_failure.ts";
import { deleteWithRetries } from "./delete_with_retries.ts";
import { CREATE, CreatedWithErrors, type NewKey, requestKey } from "./create_request.ts";
import { existedBefore, type ExistingKey } from "./list_secrets.ts";
import { describeFailure, failureOf, forCleanUp, poll, retry, retryIfNotExecuted, wasNotExecuted } from "../retry.ts";

/**
 * Creates a key under a temporary name: the name, a space and 8 random digits. If the request fails and the server has
 * created the key nevertheless, deletes it.
 *
 * @param before every key that the server listed before
 * @throws {Failure} if the key was not created, or was deleted again; otherwise the message gives the command that
 * deletes it
 */
export async function createTemporaryKey(
  endpoint: Endpoint,
  key: NewKey,
  before: readonly ExistingKey[],
): Promise<IssuedKey> {
  const name = `${key.name} ${randomDigits()}`;
  const request = (): Promise<IssuedKey> => requestKey(endpoint, CREATE, { ...key, overwrite: false }, name);
  try {
    const created = await retryIfNotExecuted(endpoint, request);
    if (!existedBefore(created, before)) return created;
  } catch (error) {
    if (!(error instanceof Failure) || wasNotExecuted(error)) throw error;
    if (!(error instanceof CreatedWithErrors)) throw await deleteIfCreated(endpoint, name, error);
    if (!existedBefore(error.created, before)) {
      throw await deleteTemporaryKey(endpoint, error.created, { wasListed: false, failure: error.reported });
    }
  }
  throw new Failure(
    "FAILED",
    `${endpoint.label} answered with a key that existed before, instead of a new one. Nothing was changed.`,
  );
}

function randomDigits(): string {
  const [number = 0] = crypto.getRandomValues(new Uint32Array(1));
  return String(number % 100_000_000).padStart(8, "0");
}

async function deleteIfCreated(endpoint: Endpoint, name: string, failure: Failure): Promise<Failure> {
  const cleanUp = forCleanUp(endpoint);
  const find = async (): Promise<KeyReference | undefined> =>
    (await listReferences(cleanUp)).find((key) => key.name === name);
  let found: KeyReference | undefined;
  const problem = await failureOf((async () => {
    found = await poll(cleanUp, () => retry(cleanUp, find), (key) => key !== undefined);
  })());
  if (found !== undefined) return await deleteTemporaryKey(endpoint, found, { wasListed: true, failure });
  // If the server answered with an error and does not list the key, it has not created it.
  if (problem === undefined && failure.code === "FAILED") return failure;
  return new Failure(
    failure.code,
    `${describeOutcome(failure)} No key was replaced. If a key named ${quote(name)} exists now, delete it: ` +
      `service-api apikey --delete --name "${name}"`,
    { cause: failure },
  );
}

/**
 * Deletes the temporary key after a failure.
 *
 * @param wasListed whether the server has listed the key. If not, a server that lags may reject the deletion and list
 * the key only later.
 * @returns the failure to throw; its message says whether the temporary key still exists
 */
export async function deleteTemporaryKey(
  endpoint: Endpoint,
  temporary: KeyReference,
  { wasListed, failure }: { readonly wasListed: boolean; readonly failure: Failure },
): Promise<Failure> {
  const cleanUp = forCleanUp(endpoint);
  const refusal = await failureOf(deleteWithRetries(cleanUp, [temporary]));
  const isGone = refusal === undefined || (wasListed && !await isListed(cleanUp, temporary));
  const state = isGone
    ? "Nothing was changed."
    : `No key was replaced, but the temporary key ${quote(temporary.name)} (${temporary.id}) ` +
      `${wasListed ? "still exists" : "may still exist"}. To delete it, run: ${deleteCommand(temporary)}`;
  return new Failure(failure.code, `${describeOutcome(failure)} ${state}`, { cause: failure });
}

async function isListed(endpoint: Endpoint, { id }: KeyReference): Promise<boolean> {
  try {
    return (await retry(endpoint, () => listReferences(endpoint))).some((key) => key.id === id);
  } catch {
    return true;
  }
}

/** Omits the sentence that the server may have executed the request, because the next sentence says what is true. */
function describeOutcome(failure: Failure): string {
  return describeFailure(failure).replace(MAYBE_EXECUTED, "");
}
