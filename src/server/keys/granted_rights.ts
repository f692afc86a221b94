/** Which rights a change to a key grants. A caller can grant only rights that it has. */
import { Failure } from "../../apikey/failure.ts";
import type { Permission } from "../../apikey/permission.ts";
import { missingRights, type Rights, rightsOf } from "../../apikey/rights.ts";
import type { StoredKey } from "../../store/stored_key.ts";
import { RULES } from "../auth/authorization.ts";
import { type Caller, isCurrentSecret } from "../auth/caller.ts";

/** @throws {Failure} `FORBIDDEN` if the caller lacks one of the rights */
export function requireRights({ rights }: Caller, granted: Rights): void {
  const missing = missingRights(rights, granted);
  if (missing.length === 0) return;
  throw new Failure("FORBIDDEN", `A key can grant only rights that it has. Your key lacks ${listRights(missing)}.`);
}

function listRights(rights: readonly Permission[]): string {
  const shown = rights.slice(0, 3).join(", ");
  return rights.length > 3 ? `${shown} and ${rights.length - 3} more` : shown;
}

/**
 * Throws unless the caller has the rights that a change grants: all rights of the key if the key gets a new secret, is
 * enabled or expires later; otherwise, the rights that the change adds.
 *
 * @throws {Failure} `FORBIDDEN` if the caller lacks one of the rights, or if the calling key, with `API_KEY:UPDATE_OWN`
 * alone, would enable itself or extend its own life
 */
export function requireGrantable(caller: Caller, held: StoredKey, changed: StoredKey): void {
  const isExtended = !held.enabled && changed.enabled || isLater(changed.expiresAt, held.expiresAt);
  if (isExtended && caller.key?.id === held.id && !caller.rights.has(UPDATE_ANY)) {
    throw new Failure("FORBIDDEN", `Enabling your own key or extending its life needs ${UPDATE_ANY}.`);
  }
  const { names } = caller.resources;
  const rights = rightsOf(changed.roles, changed.permissions, names);
  const isNewSecret = changed.secretHash !== held.secretHash;
  if (isNewSecret || isExtended) return requireRights(caller, rights);
  requireRights(caller, new Set(missingRights(rightsOf(held.roles, held.permissions, names), rights)));
}

const UPDATE_ANY = RULES.ApiKeyMutations.update.any;

function isLater(expiry: Date | null, than: Date | null): boolean {
  return than !== null && (expiry === null || expiry > than);
}

/**
 * Throws if the request carries an older secret of the key that it would change or delete. Only the current secret of a
 * key can do that.
 *
 * @param action what needs the current secret; the message begins with it
 * @throws {Failure} `FORBIDDEN`
 */
export function requireCurrentSecret(caller: Caller, held: StoredKey, action: string): void {
  if (caller.key === null || caller.key.id !== held.id || isCurrentSecret(held, caller.secretHash)) return;
  throw new Failure(
    "FORBIDDEN",
    `${action} your own key needs its current secret. The key was rotated. Use its new secret. To store it in a ` +
      "profile, run service-api login.",
  );
}
