/** The roles a key can have (spec section 2, "Roles"). */
import { parseCommaList, toUpperCase } from "./comma_list.ts";
import { Failure, quote } from "./failure.ts";
import { nearest } from "./nearest.ts";

export const ROLES = ["ADMIN", "CONNECT", "VIEWER", "GUEST"] as const;

export type Role = typeof ROLES[number];

export const ROLE_MEANINGS: Readonly<Record<Role, string>> = {
  ADMIN: "Full access to the system",
  CONNECT: "Access to the connect features of the service",
  VIEWER: "Read-only access",
  GUEST: "Limited access",
};

function isRole(word: string): word is Role {
  return ROLES.some((role) => role === word);
}

function parseRole(text: string): Role {
  const word = toUpperCase(text);
  if (isRole(word)) return word;
  if (word.includes(":")) {
    throw new Failure("INVALID_ROLE", `${quote(text)} is a permission, not a role. Pass it with --permissions.`);
  }
  throw new Failure(
    "INVALID_ROLE",
    text === ""
      ? "The list of roles contains an empty item. Remove the extra comma."
      : `Unknown role ${quote(text)}. Did you mean ${nearest(word, ROLES)}? Valid roles: ${ROLES.join(", ")}.`,
  );
}

/**
 * Parses a comma-separated list of roles. Ignores case, and spaces around commas. Removes duplicates.
 *
 * @throws {Failure} `INVALID_ROLE`; its message describes the first invalid item and how to correct it
 */
export function parseRoles(list: string): readonly Role[] {
  return parseCommaList(list, parseRole);
}
