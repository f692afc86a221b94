/** Who is making a request (spec section 5). */
import { EVERY_RIGHT, type Rights, rightsOf } from "../../apikey/rights.ts";
import type { StoredKey } from "../../store/stored_key.ts";

export interface Caller {
  /** The key that the request carries; `null` for the local caller. */
  readonly key: StoredKey | null;
  readonly rights: Rights;
}

/** A caller with a key. */
export type KeyCaller = Caller & { readonly key: StoredKey };

/**
 * The local caller: a user whose command runs the server in its own process and sends no key. The local caller has all
 * rights.
 */
export const LOCAL_CALLER: Caller = { key: null, rights: EVERY_RIGHT };

export function callerOf(key: StoredKey): KeyCaller {
  return { key, rights: rightsOf(key.roles, key.permissions) };
}

/** Returns whether a key is the calling key or a key that the calling key created. `_OWN` permissions cover these keys. */
export function isOwn(caller: Caller, { id, createdBy }: Pick<StoredKey, "id" | "createdBy">): boolean {
  return caller.key !== null && (id === caller.key.id || createdBy === caller.key.id);
}
