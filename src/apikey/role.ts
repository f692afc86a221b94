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

function parseRole(typed: string): Role {
  const word = toUpperCase(typed);
  if (isRole(word)) return word;
  if (word.includes(":")) {
    throw new Failure("INVALID_ROLE", `${quote(typed)} is a permission, not a role: give it with --permissions.`);
  }
  throw new Failure(
    "INVALID_ROLE",
    typed === ""
      ? "There is an empty role in the list of roles: look for a comma too many."
      : `There is no role ${quote(typed)}; did you mean ${nearest(word, ROLES)}? The roles are ${ROLES.join(", ")}.`,
  );
}

/**
 * Reads a comma-separated list of roles, in any case, with spaces around commas.
 *
 * @throws {Failure} `INVALID_ROLE`, naming the one that is none and the nearest one that is
 */
export function parseRoles(list: string): readonly Role[] {
  return parseCommaList(list, parseRole);
}
