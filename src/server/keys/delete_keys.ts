/** Deletes keys after checking the caller's permissions. */
import type { StoredKey } from "../../store/stored_key.ts";
import { requirePermission, RULES } from "../auth/authorization.ts";
import { isOwn } from "../auth/caller.ts";
import { type Target, withRefusalAudit } from "./refusal_audit.ts";
import { type RequestContext, throwIfAborted } from "./request_context.ts";
import { sanitizeText } from "./sanitize_text.ts";

/**
 * Deletes all of the keys. If one of them does not exist, or if the caller is not allowed to delete one of them, deletes
 * none.
 *
 * @returns whether the keys were deleted; `false` if one of them does not exist
 * @throws {Failure} `FORBIDDEN` if the caller is not allowed to delete one of the keys
 * @throws {Failure} `INTERRUPTED` if the client no longer waits for the response
 */
export function deleteKeys(ids: readonly string[], context: RequestContext): Promise<boolean> {
  const { store, caller, origin } = context;
  let target: Target = { id: ids[0] };
  const precondition = (stored: StoredKey | undefined): void => {
    throwIfAborted(context);
    if (stored === undefined) return;
    target = stored;
    requirePermission(RULES.ApiKeyMutations.delete, caller, isOwn(caller, stored));
  };
  return withRefusalAudit(
    "DELETE",
    () => target,
    context,
    () => store.remove(ids.map(sanitizeText), origin, precondition),
  );
}
