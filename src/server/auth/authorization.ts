/** The rights that each field of the schema needs: the one place that says so. */
import { Failure } from "../../apikey/failure.ts";
import type { Permission } from "../../apikey/permission.ts";
import type { Caller } from "./caller.ts";

export interface Rule {
  /** Lets a caller at every key. */
  readonly any?: Permission;
  /** Lets a caller who lacks that right at the key it has and the keys it created. */
  readonly own?: Permission;
}

/** What a caller was let at. */
export type Reach = "any" | "own";

const VALID_KEY: Rule = {};
const READ_KEYS = { any: "API_KEY:READ_ANY", own: "API_KEY:READ_OWN" } as const;

/** By type and field. Introspection, like everything else, needs a valid key. */
export const RULES = {
  Query: {
    me: VALID_KEY,
    apiKeys: READ_KEYS,
    apiKey: READ_KEYS,
    apiKeysByName: READ_KEYS,
    apiKeysExist: READ_KEYS,
    auditEvents: { any: "LOGS:READ_ANY" },
  },
  Mutation: {
    apiKey: VALID_KEY,
  },
  ApiKeyMutations: {
    /** And every right that the new key is to have; to replace a key, the right to delete it. */
    create: { any: "API_KEY:CREATE_ANY" },
    delete: { any: "API_KEY:DELETE_ANY", own: "API_KEY:DELETE_OWN" },
    refusesTakenNames: VALID_KEY,
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Rule>>>>;

/** The types whose fields need what the field needs that returned them. */
export const DATA_TYPES: readonly string[] = ["ApiKey", "Permission", "Me", "AuditEvent", "AuditKey"];

/**
 * How far a rule lets a caller.
 *
 * @throws {Failure} `FORBIDDEN`, naming what is missing
 */
export function reachOf(rule: Rule, caller: Caller): Reach {
  if (rule.any === undefined || caller.rights.has(rule.any)) return "any";
  requireRight(rule, caller, true);
  return "own";
}

/**
 * Lets a caller pass whom a rule lets at a key.
 *
 * @param isOwn whether `_OWN` reaches the key
 * @param what how the message calls what is asked for
 * @throws {Failure} `FORBIDDEN`, naming what is missing
 */
export function requireRight(rule: Rule, caller: Caller, isOwn: boolean, what = "This"): void {
  const { any, own } = rule;
  if (any === undefined || caller.rights.has(any)) return;
  if (isOwn && own !== undefined && caller.rights.has(own)) return;
  const words = own !== undefined && caller.rights.has(own)
    ? `${any}, since the key is another's: ${own} reaches only the key that asks and those it created.`
    : `${wordsOf(rule)}, which the key does not have.`;
  throw new Failure("FORBIDDEN", `${what} needs ${words}`);
}

/** A rule in words, for messages and for the descriptions in the schema. */
export function wordsOf({ any, own }: Rule): string {
  if (any === undefined) return "a valid key";
  return own === undefined ? any : `${any}, or ${own} for the key itself and those it created`;
}
