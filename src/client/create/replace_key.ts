/**
 * Replaces a key on a server that cannot do so in one transaction. With `overwrite`, such a server may return the old key
 * with its old secret. The steps: create the new key under a temporary name, delete the old key, rename the new key. A
 * working key exists at every moment. If a step fails before the old key is deleted, the temporary key is deleted again.
 */
import { Failure, quote, toSentence } from "../../apikey/failure.ts";
import { hasName } from "../../apikey/name.ts";
import type { Endpoint } from "../endpoint.ts";
import { deleteCommand, type IssuedKey, type KeyReference } from "../key.ts";
import { listReferences } from "../list_keys.ts";
import { findEarlierKey } from "./competing_keys.ts";
import { deleteWithRetries } from "./delete_with_retries.ts";
import { CREATE, type NewKey, requestKey } from "./create_request.ts";
import { findKeyInUse, withKey } from "./key_in_use.ts";
import { existedBefore, type ExistingKey, listSecrets } from "./list_secrets.ts";
import { requestRename } from "./rename_request.ts";
import { describeFailure, failureOf, forCleanUp, isRefusal, poll, retry, retryIfNotExecuted } from "../retry.ts";
import { createTemporaryKey, deleteTemporaryKey } from "./temporary_key.ts";

/** The new key while it has its temporary name, and the key that was requested. */
interface Replacement {
  readonly endpoint: Endpoint;
  readonly key: NewKey;
  readonly temporary: IssuedKey;
  /** The keys to replace. */
  readonly old: readonly KeyReference[];
  /** Whether the new key replaces the key in use. It then takes its name before the old keys are deleted. */
  readonly isSuccessor: boolean;
}

/** A failure after which the new key must not be deleted, because the old key is or may be gone. */
class Unfinished extends Failure {}

/**
 * Replaces every key with the name of `key`, or creates the key if there is none. Waits up to `timeout` for each change
 * to become visible.
 *
 * @throws {Failure} any failure of {@linkcode execute}; the message says what exists now and how to finish the job
 */
export async function replaceKey(endpoint: Endpoint, key: NewKey): Promise<IssuedKey> {
  const before = await listSecrets(endpoint);
  const temporary = await createTemporaryKey(endpoint, key, before);
  let wasListed = false;
  try {
    const existing = await listWhenVisible(endpoint, temporary);
    wasListed = true;
    const old = existing.filter((other) => hasName(other, key.name) && other.id !== temporary.id);
    const inUse = await findKeyInUse(endpoint, existing, old);
    const isSuccessor = inUse !== undefined;
    const replacement = { endpoint, key, temporary, old, isSuccessor };
    const later = isSuccessor ? withKey(endpoint, inUse, temporary.key) : endpoint;
    if (isSuccessor) await takeName(later, replacement);
    await deleteOldKeys(replacement, later);
    const created = isSuccessor || await rename(replacement)
      ? { ...temporary, name: key.name }
      : await createAgain(replacement, [...before, ...existing]);
    const earlier = await findEarlierKey(later, created, key.name, old);
    if (earlier === undefined) return created;
    throw await yieldTo(earlier, created, later);
  } catch (error) {
    if (!(error instanceof Failure) || error instanceof Unfinished) throw error;
    throw await deleteTemporaryKey(endpoint, temporary, { wasListed, failure: error });
  }
}

/**
 * Waits until the server lists a new key. It then also lists every key that was created earlier.
 *
 * @throws {Failure} `FAILED` if the server does not list the key within `timeout`
 */
async function listWhenVisible(endpoint: Endpoint, created: KeyReference): Promise<readonly ExistingKey[]> {
  const isVisible = (keys: readonly ExistingKey[]): boolean => keys.some(({ id }) => id === created.id);
  const keys = await poll(endpoint, () => retry(endpoint, () => listSecrets(endpoint)), isVisible);
  if (isVisible(keys)) return keys;
  const seconds = endpoint.timeout / 1000;
  throw new Failure("FAILED", `${endpoint.label} created a key, but did not list it within ${seconds} s.`);
}

/**
 * Gives the new key its final name, so that the caller is not locked out when the key in use is deleted.
 *
 * @param later the server, with the new key
 */
async function takeName(later: Endpoint, { key, temporary }: Replacement): Promise<void> {
  const failure = await failureOf((async () => {
    await retry(later, () => requestRename(later, temporary.id, key));
    await retry(later, () => listReferences(later));
  })());
  if (failure === undefined) return;
  if (failure.code === "INTERRUPTED") throw failure;
  const remedy = failure.code === "FORBIDDEN"
    ? "Give the new key API_KEY:READ_ANY and API_KEY:UPDATE_ANY, or use another key for this command."
    : "Use another key for this command.";
  throw new Failure(
    failure.code,
    `The key in use cannot replace itself on ${later.label}, because the new key could not take its name: ` +
      `${toSentence(failure.message)} ${remedy}`,
    { cause: failure },
  );
}

/**
 * Deletes the old keys and waits until the server no longer lists them.
 *
 * @param later the server, with a key that can list keys after the deletion
 * @throws {Unfinished} if some keys were or may have been deleted
 * @throws {Failure} if no key was deleted
 */
async function deleteOldKeys(replacement: Replacement, later: Endpoint): Promise<void> {
  const { endpoint, old, isSuccessor } = replacement;
  if (old.length === 0) return;
  const failure = await failureOf(deleteWithRetries(endpoint, old));
  const watcher = failure === undefined ? later : forCleanUp(later);
  const limit = failure !== undefined && isRefusal(failure) ? 0 : watcher.timeout;
  let remaining = old;
  const listFailure = await failureOf((async () => {
    const list = (): Promise<readonly KeyReference[]> => retry(watcher, () => listReferences(watcher));
    remaining = common(await poll(watcher, list, (keys) => common(keys, old).length === 0, limit), old);
  })());
  const isGone = listFailure === undefined && remaining.length === 0;
  // The secret of the successor must be printed: the caller has no other key.
  if (isSuccessor && (isGone || (failure === undefined && listFailure !== undefined))) return;
  if (isGone && failure?.code !== "INTERRUPTED") return;
  if (failure === undefined) throw unfinished(replacement, listFailure ?? stillListed(remaining, endpoint));
  if (listFailure !== undefined) throw unfinished(replacement, failure, "The old key may be deleted.");
  if (remaining.length === old.length) throw failure;
  throw unfinished(replacement, failure, isGone ? undefined : `Still there: ${describe(remaining)}.`);
}

/** Returns the keys that are among the others. */
function common(keys: readonly KeyReference[], others: readonly KeyReference[]): readonly KeyReference[] {
  return keys.filter(({ id }) => others.some((other) => other.id === id));
}

function stillListed(keys: readonly KeyReference[], { label, timeout }: Endpoint): Failure {
  return new Failure("FAILED", `${label} still listed ${describe(keys)} ${timeout / 1000} s after it was deleted.`);
}

function describe(keys: readonly KeyReference[]): string {
  return keys.map(({ name, id }) => `${quote(name)} (${id})`).join(", ");
}

/**
 * Renames the temporary key.
 *
 * @returns whether the key has its name; `false` if the server has no `update` or refuses to rename the key
 * @throws {Failure} if the request fails for another reason
 */
async function rename(replacement: Replacement): Promise<boolean> {
  const { endpoint, key, temporary } = replacement;
  const failure = await failureOf(retry(endpoint, () => requestRename(endpoint, temporary.id, key)));
  if (failure === undefined) return true;
  if (isRefusal(failure)) return false;
  const cleanUp = forCleanUp(endpoint);
  const isRenamed = (keys: readonly KeyReference[]): boolean =>
    keys.some((other) => other.id === temporary.id && hasName(other, key.name));
  try {
    const list = (): Promise<readonly KeyReference[]> => retry(cleanUp, () => listReferences(cleanUp));
    const limit = failure.code === "FAILED" ? 0 : cleanUp.timeout;
    if (isRenamed(await poll(cleanUp, list, isRenamed, limit))) return true;
    if (failure.code === "FAILED") return false;
  } catch {
    // Reports the first failure instead.
  }
  throw replacement.old.length === 0 ? failure : unfinished(replacement, failure);
}

/**
 * Creates the key once more, under its final name, waits until the server lists it, and deletes the temporary key. The
 * server may lag and return an old key, so compares the key with all earlier keys.
 */
async function createAgain(replacement: Replacement, earlier: readonly ExistingKey[]): Promise<IssuedKey> {
  const { endpoint, key, temporary } = replacement;
  const isNew = (created: IssuedKey): boolean => !existedBefore(created, [...earlier, temporary]);
  let created: IssuedKey | undefined;
  try {
    const request = (): Promise<IssuedKey> => requestKey(endpoint, CREATE, { ...key, overwrite: false });
    const answered = await poll(endpoint, () => retryIfNotExecuted(endpoint, request), isNew);
    if (!isNew(answered)) throw new Failure("FAILED", `${endpoint.label} answered with the old key again.`);
    created = answered;
    await listWhenVisible(endpoint, created);
    await deleteWithRetries(endpoint, [temporary]);
    return created;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw unfinished(replacement, error, created && `The new key ${describe([created])} exists.`);
  }
}

/** @param state what has happened to the keys; by default, the old keys were deleted */
function unfinished(
  { key, temporary, old, isSuccessor }: Replacement,
  cause: Failure,
  state = old.length === 0 ? "" : `The old key ${quote(key.name)} was deleted.`,
): Unfinished {
  const sentences = [
    describeFailure(cause),
    state,
    ...(isSuccessor
      ? [
        `The new key ${quote(key.name)} (${temporary.id}) exists, and its secret was not printed.`,
        "To finish, run the same command again. If the key in use no longer works, use another key.",
      ]
      : [
        `The temporary key ${quote(temporary.name)} (${temporary.id}) exists, and its secret was not printed.`,
        cause.code === "UNAUTHENTICATED" ? "The deleted key may have been the key in use: use another key." : "",
        `To finish, run the same command again, and then delete the temporary key: ${deleteCommand(temporary)}`,
      ]),
  ];
  return new Unfinished(cause.code, sentences.filter((sentence) => sentence !== "").join(" "), { cause });
}

/** Deletes the new key, because another caller has created a key with the same name a moment earlier. */
async function yieldTo(earlier: KeyReference, created: IssuedKey, endpoint: Endpoint): Promise<Unfinished> {
  const failure = await failureOf(deleteWithRetries(forCleanUp(endpoint), [created]));
  const conflict = `Another caller replaced the key ${quote(created.name)} at the same time (${earlier.id}).`;
  return new Unfinished(
    "FAILED",
    failure === undefined
      ? `${conflict} That key remains, and the new key was deleted. To replace it, run the same command again.`
      : `${conflict} Two keys have this name now. To delete the new key, run: ${deleteCommand(created)}`,
    { cause: failure },
  );
}
