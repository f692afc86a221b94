/** Deletes keys after checking the caller's permissions. */
import type { StoredKey } from "../../store/stored_key.ts";
import { requirePermission, requireStillAuthorized, RULES } from "../auth/authorization.ts";
import { isOwn } from "../auth/caller.ts";
import { requireCurrentSecret } from "./granted_rights.ts";
import { recordNotFound, type Target, withRefusalAudit } from "./refusal_audit.ts";
import { type RequestContext, throwIfAborted } from "./request_context.ts";
import { sanitizeText } from "./sanitize_text.ts";

/**
 * Deletes all of the keys. If one of them does not exist, or if the caller is not allowed to delete one of them, deletes
 * none. With `API_KEY:DELETE_OWN` alone, the result is the same for a key that another caller created and for a key that
 * does not exist.
 *
 * @returns whether the keys were deleted; `false` if one of them does not exist
 * @throws {Failure} `FORBIDDEN` if the caller is not allowed to delete one of the keys
 * @throws {Failure} `INTERRUPTED` if the client no longer waits for the response
 */
export function deleteKeys(ids: readonly string[], context: RequestContext): Promise<boolean> {
  const { store, caller, origin } = context;
  let target: Target = { id: ids[0] };
  let missing: string | undefined;
  const precondition = (stored: StoredKey | undefined, actor: StoredKey | null, id: string): void => {
    throwIfAborted(context);
    target = stored ?? { id };
    if (stored === undefined) missing ??= id;
    requirePermission(RULES.ApiKeyMutations.delete, caller, stored !== undefined && isOwn(caller, stored));
    if (stored !== undefined) requireCurrentSecret(caller, stored, "Deleting");
    requireStillAuthorized(caller, actor);
  };
  return withRefusalAudit("DELETE", () => target, context, async () => {
    const isDeleted = await store.remove(ids.map(sanitizeText), origin, precondition);
    if (missing !== undefined) await recordNotFound(missing, context);
    return isDeleted;
  });
}
