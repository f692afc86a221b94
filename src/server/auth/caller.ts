/** Who makes a request (spec section 5). */
import { EVERY_RIGHT, type Rights, rightsOf } from "../../apikey/rights.ts";
import type { StoredKey } from "../../store/stored_key.ts";

export interface Caller {
  /** The key that the request carries; `null` for the local caller. */
  readonly key: StoredKey | null;
  readonly rights: Rights;
}

/** The caller in embedded mode: a user who can read and write the store. It needs no key and has every right. */
export const LOCAL_CALLER: Caller = { key: null, rights: EVERY_RIGHT };

export function callerOf(key: StoredKey): Caller {
  return { key, rights: rightsOf(key.roles, key.permissions) };
}

/** Returns whether `_OWN` permissions cover a key: the caller's own key, or a key that it created. */
export function isOwn(caller: Caller, { id, createdBy }: Pick<StoredKey, "id" | "createdBy">): boolean {
  return caller.key !== null && (id === caller.key.id || createdBy === caller.key.id);
}
