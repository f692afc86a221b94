/** Changes one key: the rules that updating and rotating a key share. */
import { Failure, quote } from "../../apikey/failure.ts";
import type { Name } from "../../apikey/name.ts";
import type { KeySelector } from "../../store/key_store.ts";
import type { StoredKey } from "../../store/stored_key.ts";
import { requirePermission, requireStillAuthorized, RULES } from "../auth/authorization.ts";
import { isOwn } from "../auth/caller.ts";
import { requireCurrentSecret, requireGrantable } from "./granted_rights.ts";
import { type Target, withRefusalAudit } from "./refusal_audit.ts";
import { type RequestContext, throwIfAborted } from "./request_context.ts";
import { sanitizeText } from "./sanitize_text.ts";

export interface KeyChange {
  readonly selector: KeySelector;
  /** The name that `apply` gives to the key, if it changes the name. */
  readonly newName?: Name | undefined;
  /** Returns the changed key, or the same object if nothing changes, or throws. Runs inside the transaction. */
  readonly apply: (held: StoredKey) => StoredKey;
}

/**
 * Changes one key and records the change, or its refusal, in the audit trail. With `API_KEY:UPDATE_OWN` alone, the result
 * is the same for a key that another caller created and for a key that does not exist.
 *
 * @param requested the key as the request names it
 * @param prepare checks the input; what it throws is a refusal
 * @returns the key after the change
 * @throws {Failure} `NOT_FOUND` if the key does not exist
 * @throws {Failure} `FORBIDDEN` if the caller is not allowed to change the key, or lacks a right that the change grants
 * @throws {Failure} `ALREADY_EXISTS` if another key has the new name
 * @throws {Failure} `INTERRUPTED` if the client no longer waits for the response
 */
export function changeKey(
  action: "UPDATE" | "ROTATE",
  requested: Target,
  context: RequestContext,
  prepare: () => KeyChange | Promise<KeyChange>,
): Promise<StoredKey> {
  const { store, caller, origin } = context;
  const rule = action === "UPDATE" ? RULES.ApiKeyMutations.update : RULES.ApiKeyMutations.rotate;
  let target = requested;
  return withRefusalAudit(action, () => target, context, async () => {
    const { selector, newName, apply } = await prepare();
    const change = (held: StoredKey, actor: StoredKey | null): StoredKey => {
      throwIfAborted(context);
      target = held;
      requirePermission(rule, caller, isOwn(caller, held));
      requireCurrentSecret(caller, held, action === "UPDATE" ? "Changing" : "Rotating");
      requireStillAuthorized(caller, actor);
      const changed = apply(held);
      requireGrantable(caller, held, changed);
      return changed;
    };
    const changed = await store.update(selector, origin, { action, newName }, change);
    if (changed !== undefined) return changed;
    requirePermission(rule, caller, false);
    throw notFound(selector);
  });
}

/** Selects a key by the id in a request. */
export function byId(id: string): KeySelector {
  return { id: sanitizeText(id) };
}

function notFound(selector: KeySelector): Failure {
  const [member, value] = "id" in selector ? ["id", selector.id] : ["name", selector.name];
  return new Failure("NOT_FOUND", `No API key found with ${member}: ${quote(value)}.`);
}
