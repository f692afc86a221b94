/** Who makes a request (spec section 5). */
import { EVERY_RIGHT, type Rights, rightsOf } from "../../apikey/rights.ts";
import type { StoredKey } from "../../store/stored_key.ts";

export interface Caller {
  /** The key that was presented; `null` for the local caller. */
  readonly key: StoredKey | null;
  readonly rights: Rights;
}

/** Whoever may read and write the data directory: has every right, needs no key. */
export const LOCAL_CALLER: Caller = { key: null, rights: EVERY_RIGHT };

export function callerOf(key: StoredKey): Caller {
  return { key, rights: rightsOf(key.roles, key.permissions) };
}

/** Whether `_OWN` reaches a key: the caller's own key and the keys it created. */
export function isOwn(caller: Caller, { id, createdBy }: Pick<StoredKey, "id" | "createdBy">): boolean {
  return caller.key !== null && (id === caller.key.id || createdBy === caller.key.id);
}
