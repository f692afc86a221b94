/** How keys are deleted on the embedded server. */
import type { StoredKey } from "../../store/stored_key.ts";
import { isOwn } from "../auth/caller.ts";
import { recordingRefusal, type Target } from "./refusal_audit.ts";
import type { RequestContext } from "./request_context.ts";
import { requireRight, RULES } from "../auth/authorization.ts";
import { sanitizeText } from "./sanitize_text.ts";

/**
 * Deletes keys, all or none.
 *
 * @returns false when one of them is not there, and then none was deleted
 * @throws {Failure} `FORBIDDEN` when the caller may not delete one of them, and then none was deleted
 */
export function deleteKeys(ids: readonly string[], context: RequestContext): Promise<boolean> {
  const { store, caller, origin, requireInterest } = context;
  let target: Target = { id: ids[0] };
  const precondition = (held: StoredKey | undefined): void => {
    requireInterest();
    if (held === undefined) return;
    target = held;
    requireRight(RULES.ApiKeyMutations.delete, caller, isOwn(caller, held));
  };
  return recordingRefusal(
    "DELETE",
    () => target,
    context,
    () => store.remove(ids.map(sanitizeText), origin, precondition),
  );
}
