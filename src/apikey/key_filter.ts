/** Decides which keys a filter selects. The client and the server use the same rules. */
import type { NamedPermission } from "./permission.ts";
import { grantsRight } from "./rights.ts";

/** A key matches if it matches every member that is set. A member that is `null` or `undefined` is not set. */
export interface KeyFilter {
  /** A pattern for the whole name: `*` stands for any characters, `?` for one code point. Case matters. */
  readonly match?: string | null | undefined;
  /** A role that the key has. */
  readonly role?: string | null | undefined;
  /** A right that the roles and permissions of the key grant on the embedded server. */
  readonly can?: NamedPermission | null | undefined;
  /** Whether the key has expired. A key without an expiry has not. */
  readonly expired?: boolean | null | undefined;
  /** Selects keys that expire before this time, including those that have expired. */
  readonly expiresBefore?: Date | null | undefined;
  /** Selects keys whose last use is before this time and, of the keys that were never used, those created before it. */
  readonly unusedSince?: Date | null | undefined;
  readonly disabled?: boolean | null | undefined;
  readonly managedBy?: string | null | undefined;
}

/** What a filter reads of a key. */
export interface FilteredKey {
  readonly name: string;
  readonly roles: readonly string[];
  readonly permissions: readonly string[];
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly enabled: boolean;
  /** `null` matches neither `expiresBefore` nor `expired: true`. */
  readonly expiresAt: Date | null;
  /** `null` matches no `managedBy`. */
  readonly managedBy: string | null;
}

/** Returns whether a filter selects a key. */
export function matchesFilter(key: FilteredKey, filter: KeyFilter, now: Date): boolean {
  const { match, role, can, expired, expiresBefore, unusedSince, disabled, managedBy } = filter;
  const { expiresAt } = key;
  return (isUnset(disabled) || disabled !== key.enabled) &&
    (isUnset(managedBy) || managedBy === key.managedBy) &&
    (isUnset(expired) || expired === (expiresAt !== null && expiresAt <= now)) &&
    (isUnset(expiresBefore) || (expiresAt !== null && expiresAt < expiresBefore)) &&
    (isUnset(unusedSince) || (key.lastUsedAt ?? key.createdAt) < unusedSince) &&
    (isUnset(role) || key.roles.includes(role)) &&
    (isUnset(can) || grantsRight(key.roles, key.permissions, can)) &&
    (isUnset(match) || matchesPattern(key.name.normalize("NFC"), match.normalize("NFC")));
}

function isUnset(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

/**
 * Matches a text against a pattern. Not with a regular expression, because a caller can send a pattern that takes one
 * very long.
 */
function matchesPattern(text: string, pattern: string): boolean {
  const characters = [...text];
  const wanted = [...pattern];
  let next = 0;
  /** The last `*` in the pattern, and where in the text the characters after those it stands for begin. */
  let star = -1;
  let resume = 0;
  for (let i = 0; i < characters.length;) {
    if (wanted[next] === "*") {
      star = next++;
      resume = i;
    } else if (wanted[next] === "?" || wanted[next] === characters[i]) {
      next++;
      i++;
    } else if (star >= 0) {
      next = star + 1;
      i = ++resume;
    } else return false;
  }
  return wanted.slice(next).every((character) => character === "*");
}
