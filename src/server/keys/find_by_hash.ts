/** Finds keys by the hashes of their secrets, so that a client can tell whether a secret is valid without sending it. */
import { Failure } from "../../apikey/failure.ts";
import type { StoredKey } from "../../store/stored_key.ts";
import type { Scope } from "../auth/authorization.ts";
import { isCurrentSecret, isOwn } from "../auth/caller.ts";
import type { RequestContext } from "./request_context.ts";

/** The maximum number of hashes in one list. */
export const MAX_HASHES = 1000;

/**
 * Returns, for each hash, the key whose current secret has this hash, or `null`.
 *
 * @param hashes SHA-256 in hexadecimal
 * @param scope which keys the caller may read; for any other key, the result is `null` too
 * @throws {Failure} `USAGE` if the list or the request has too many hashes, if one of them is not a SHA-256, or if the
 * response exceeds a limit
 */
export async function findBySecretHashes(
  hashes: readonly string[],
  scope: Scope,
  { store, caller, countKey, scan }: RequestContext,
): Promise<readonly ({ readonly key: StoredKey } | null)[]> {
  if (hashes.length > MAX_HASHES) throw new Failure("USAGE", `hashes can have at most ${MAX_HASHES} items.`);
  scan.left -= hashes.length;
  if (scan.left < 0) throw new Failure("USAGE", "The request has too many hashes. Send several requests.");
  if (!hashes.every((hash) => /^[0-9a-f]{64}$/i.test(hash))) {
    throw new Failure("USAGE", "Each hash must be a SHA-256 in hexadecimal, with 64 digits.");
  }
  return await Promise.all(hashes.map(async (hex) => {
    const hash = Uint8Array.fromHex(hex);
    const state = await store.findBySecretHash(hash);
    const key = state === undefined || state.isPrevious ? undefined : await store.findById(state.id);
    if (key === undefined || !isCurrentSecret(key, hash)) return null;
    if (scope === "own" && !isOwn(caller, key)) return null;
    countKey(key);
    return { key };
  }));
}
