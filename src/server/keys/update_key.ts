/** Updates a key: its name, description, rights, expiry, `enabled` and `managedBy`. */
import { parseDescription } from "../../apikey/description.ts";
import { Failure } from "../../apikey/failure.ts";
import { type ResourceActions, ungroup } from "../../apikey/permission.ts";
import { requireSomeRights } from "../../apikey/rights.ts";
import type { Role } from "../../apikey/role.ts";
import type { StoredKey } from "../../store/stored_key.ts";
import { requirePermission, RULES } from "../auth/authorization.ts";
import { isOwn } from "../auth/caller.ts";
import { byId, changeKey } from "./change_key.ts";
import { parseExpiry, requireAllowedExpiry } from "./expiry.ts";
import type { RequestContext } from "./request_context.ts";
import { parseManagedBy, parseOptional, parseStorableName } from "./storable_text.ts";

/** The GraphQL input `UpdateApiKeyInput`. A member that is not set stays unchanged. */
export interface UpdateKeyInput {
  readonly id: string;
  readonly name?: string | null;
  /** `null` removes the description. */
  readonly description?: string | null;
  readonly roles?: readonly Role[] | null;
  readonly permissions?: readonly ResourceActions[] | null;
  /** In RFC 3339; `null` removes the expiry. */
  readonly expiresAt?: string | null;
  readonly enabled?: boolean | null;
  /** `null` removes it. */
  readonly managedBy?: string | null;
  readonly ifRevision?: number | null;
}

/** The members of a key that an update can change. */
type Update = Partial<
  Pick<StoredKey, "name" | "description" | "roles" | "permissions" | "expiresAt" | "enabled" | "managedBy">
>;

/**
 * Updates a key.
 *
 * @throws {Failure} `FAILED` if the key has another revision than `ifRevision`
 * @throws {Failure} `NO_RIGHTS` if the key would have neither roles nor permissions
 * @throws {Failure} `INVALID_NAME` or `USAGE` if the input is invalid; see `createKey`
 * @throws {Failure} what {@linkcode changeKey} throws
 */
export function updateKey(input: UpdateKeyInput, context: RequestContext): Promise<StoredKey> {
  const { id, ifRevision } = input;
  return changeKey("UPDATE", { id }, context, () => {
    const update = parseUpdate(input, context);
    return {
      selector: byId(id),
      newName: update.name,
      apply: (held) => {
        if (typeof ifRevision === "number" && ifRevision !== held.revision) throw changedMeanwhile();
        return applyUpdate(held, update, context);
      },
    };
  });
}

/** Gives a key one more role. Returns the key. */
export function addRole(id: string, role: Role, context: RequestContext): Promise<StoredKey> {
  return changeRoles(id, (roles) => [...roles, role], context);
}

/**
 * Takes a role from a key. Returns the key.
 *
 * @throws {Failure} `NO_RIGHTS` if the key would have neither roles nor permissions
 */
export function removeRole(id: string, role: Role, context: RequestContext): Promise<StoredKey> {
  return changeRoles(id, (roles) => roles.filter((held) => held !== role), context);
}

function changeRoles(
  id: string,
  change: (roles: readonly Role[]) => readonly Role[],
  context: RequestContext,
): Promise<StoredKey> {
  return changeKey("UPDATE", { id }, context, () => ({
    selector: byId(id),
    apply: (held) => applyUpdate(held, { roles: [...new Set(change(held.roles))] }, context),
  }));
}

function parseUpdate(
  { name, description, roles, permissions, expiresAt, enabled, managedBy }: UpdateKeyInput,
  { origin: { at }, lifetimes }: RequestContext,
): Update {
  const expiry = expiresAt === undefined ? undefined : parseOptional(expiresAt, (text) => parseExpiry(text, at));
  if (expiry !== undefined) requireAllowedExpiry(expiry, lifetimes, at);
  return {
    ...typeof name === "string" && { name: parseStorableName(name) },
    ...description !== undefined && { description: parseOptional(description, parseDescription) },
    ...roles && { roles: [...new Set(roles)] },
    ...permissions && { permissions: ungroup(permissions) },
    ...expiry !== undefined && { expiresAt: expiry },
    ...typeof enabled === "boolean" && { enabled },
    ...managedBy !== undefined && { managedBy: parseOptional(managedBy, parseManagedBy) },
  };
}

function applyUpdate(held: StoredKey, update: Update, { caller }: RequestContext): StoredKey {
  const changed = { ...held, ...update };
  if (textOf(changed) === textOf(held)) return held;
  requireSomeRights(changed.roles, changed.permissions);
  if (changed.managedBy !== held.managedBy) {
    requirePermission(RULES.ApiKeyMutations.delete, caller, isOwn(caller, held), "Changing managedBy");
  }
  return changed;
}

/** Returns a text that is equal for keys that no update can tell apart. */
function textOf({ name, description, roles, permissions, expiresAt, enabled, managedBy }: StoredKey): string {
  return JSON.stringify([name, description, roles, permissions, expiresAt, enabled, managedBy]);
}

function changedMeanwhile(): Failure {
  return new Failure("FAILED", "The key was changed meanwhile. Read it again, then repeat the update.");
}
