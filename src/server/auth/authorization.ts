/** Defines which permission each field of the schema needs, and checks whether a caller has it. */
import { Failure } from "../../apikey/failure.ts";
import { groupByResource, type Permission } from "../../apikey/permission.ts";
import { missingRights } from "../../apikey/rights.ts";
import type { StoredKey } from "../../store/stored_key.ts";
import { type Caller, isUnrevokedSecret } from "./caller.ts";

export interface Rule {
  /** The permission to use the field for every key. If it is not set, the field needs only a valid key. */
  readonly any?: Permission;
  /** The permission to use the field for the calling key and the keys that it created. */
  readonly own?: Permission;
}

/** Which keys a caller may act on: any key, or only the calling key and the keys that it created. */
export type Scope = "any" | "own";

const VALID_KEY: Rule = {};
const READ_KEYS = { any: "API_KEY:READ_ANY", own: "API_KEY:READ_OWN" } as const;
const UPDATE_KEYS = { any: "API_KEY:UPDATE_ANY", own: "API_KEY:UPDATE_OWN" } as const;

/** The rules by type and field. Introspection needs only a valid key. */
export const RULES = {
  Query: {
    me: VALID_KEY,
    apiKeys: READ_KEYS,
    apiKey: READ_KEYS,
    apiKeyConnection: READ_KEYS,
    apiKeysByName: READ_KEYS,
    apiKeysBySecretHash: READ_KEYS,
    apiKeysExist: READ_KEYS,
    auditEvents: { any: "LOGS:READ_ANY" },
    apiKeyPossibleRoles: VALID_KEY,
    apiKeyPossiblePermissions: VALID_KEY,
    getPermissionsForRoles: VALID_KEY,
    previewEffectivePermissions: VALID_KEY,
    getAvailableAuthActions: VALID_KEY,
    resources: VALID_KEY,
  },
  Mutation: {
    apiKey: VALID_KEY,
    resource: VALID_KEY,
  },
  ApiKeyMutations: {
    /** The caller also needs every right of the new key. To replace a key, it needs the permission to delete that key. */
    create: { any: "API_KEY:CREATE_ANY" },
    /** The caller also needs every right that the change grants; see `keys/granted_rights.ts`. */
    update: UPDATE_KEYS,
    addRole: UPDATE_KEYS,
    removeRole: UPDATE_KEYS,
    rotate: UPDATE_KEYS,
    delete: { any: "API_KEY:DELETE_ANY", own: "API_KEY:DELETE_OWN" },
    refusesTakenNames: VALID_KEY,
  },
  ResourceMutations: {
    add: { any: "PERMISSION:CREATE_ANY" },
    remove: { any: "PERMISSION:DELETE_ANY" },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Rule>>>>;

/** Types without rules. The rule of the field that returns such a type also covers the fields of the type. */
export const DATA_TYPES: readonly string[] = [
  "ApiKey",
  "Permission",
  "Me",
  "ApiKeyConnection",
  "ApiKeyEdge",
  "PageInfo",
  "AuditEvent",
  "AuditKey",
  "AuditChange",
  "CustomResource",
];

/**
 * Returns which keys a rule allows a caller to act on.
 *
 * @throws {Failure} `FORBIDDEN`; its message names the missing permission
 */
export function authorize(rule: Rule, caller: Caller): Scope {
  if (rule.any === undefined || caller.rights.has(rule.any)) return "any";
  requirePermission(rule, caller, true);
  return "own";
}

/**
 * Throws unless a rule allows a caller to act on one key.
 *
 * @param isOwn whether the key is the calling key or a key that it created
 * @param action what needs the permission; the message begins with it
 * @throws {Failure} `FORBIDDEN`; its message names the missing permission
 */
export function requirePermission(rule: Rule, caller: Caller, isOwn: boolean, action = "This request"): void {
  const { any, own } = rule;
  if (any === undefined || caller.rights.has(any)) return;
  const hasOwn = own !== undefined && caller.rights.has(own);
  if (isOwn && hasOwn) return;
  throw new Failure(
    "FORBIDDEN",
    hasOwn
      ? `${action} needs ${any}. ${own} covers only your own key and the keys that it created.`
      : `${action} needs ${describeRule(rule)}. Your key ${
        own === undefined ? "lacks this" : "has neither"
      } permission.`,
  );
}

/**
 * Throws if another request revoked the secret of the caller, or took a right from the calling key, after this request was
 * authenticated.
 *
 * @param current the calling key inside the transaction of a change; `null` for the local caller
 * @throws {Failure} `UNAUTHENTICATED` if the secret is no longer valid
 * @throws {Failure} `FORBIDDEN` if the key has lost a right
 */
export function requireStillAuthorized(caller: Caller, current: StoredKey | null): void {
  if (caller.key === null || current === null || current.revision === caller.key.revision) return;
  if (!isUnrevokedSecret(current, caller.secretHash)) {
    throw new Failure("UNAUTHENTICATED", "The key of this request was rotated while the request was running.");
  }
  if (missingRights(caller.resources.rightsOf(current.roles, current.permissions), caller.rights).length === 0) return;
  throw new Failure(
    "FORBIDDEN",
    "The key of this request lost rights while the request was running. Send the request again.",
  );
}

/** Describes a rule for messages and for the schema. */
export function describeRule({ any, own }: Rule): string {
  if (any === undefined) return "a valid key";
  return own === undefined ? any : `${any}, or ${own} for the caller's own key and the keys that it created`;
}

/** The arguments of `@usePermissions`. */
export interface StatedPermission {
  readonly action: string;
  readonly resource: string;
}

/**
 * Returns the permission that the schema states for a rule: the one for every key. `undefined` if the rule needs only a
 * valid key.
 */
export function statedPermission({ any }: Rule): StatedPermission | undefined {
  const [stated] = groupByResource(any === undefined ? [] : [any]);
  return stated && { action: stated.actions.join(), resource: stated.resource };
}
