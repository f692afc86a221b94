/** Deletes keys on the embedded server. */
import type { StoredKey } from "../../store/stored_key.ts";
import { requirePermission, RULES } from "../auth/authorization.ts";
import { isOwn } from "../auth/caller.ts";
import { type Target, withRefusalAudit } from "./refusal_audit.ts";
import { type RequestContext, throwIfAborted } from "./request_context.ts";
import { sanitizeText } from "./sanitize_text.ts";

/**
 * Deletes all of the keys or, if one does not exist or may not be deleted, none.
 *
 * @returns false if one of the keys does not exist
 * @throws {Failure} `FORBIDDEN` if the caller may not delete one of the keys
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
