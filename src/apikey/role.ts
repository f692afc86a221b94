/** The roles a key can have (spec section 2, "Roles"). */
import { findWord, parseCommaList, toUpperCase } from "./comma_list.ts";
import { Failure, quote } from "./failure.ts";
import { didYouMean } from "./nearest.ts";
import { canBeEnumName, UnknownName } from "./unknown_name.ts";

export const ROLES = ["ADMIN", "CONNECT", "VIEWER", "GUEST"] as const;

export type Role = typeof ROLES[number];

export const ROLE_MEANINGS: Readonly<Record<Role, string>> = {
  ADMIN: "Full access to the system",
  CONNECT: "Access to the connect features of the service",
  VIEWER: "Read-only access",
  GUEST: "Limited access",
};

/** Whether a word is one of `ROLES`. */
export function isRole(word: string): word is Role {
  return ROLES.some((role) => role === word);
}

function parseRole<Name extends string>(text: string, roles: readonly [Name, ...Name[]]): Name {
  const word = toUpperCase(text);
  const role = findWord(word, roles);
  if (role !== undefined) return role;
  if (word.includes(":")) {
    throw new Failure("INVALID_ROLE", `${quote(text)} is a permission, not a role. Pass it with --permissions.`);
  }
  if (text === "") {
    throw new Failure("INVALID_ROLE", "The list of roles contains an empty item. Remove the extra comma.");
  }
  throw new (canBeEnumName(word) ? UnknownName : Failure)(
    "INVALID_ROLE",
    `${quote(text)} is not a role.${didYouMean(word, roles)} The roles are ${roles.join(", ")}.`,
  );
}

/**
 * Parses roles of a server. Ignores case, and spaces around commas. Removes duplicates.
 *
 * @param roles the roles of the server
 * @param lists comma-separated lists, which add up
 * @throws {UnknownName} `INVALID_ROLE` if a role is not one of `roles`
 * @throws {Failure} `INVALID_ROLE` if an item cannot be a role; the message says how to correct it
 */
export function parseRolesOf<Name extends string>(
  roles: readonly [Name, ...Name[]],
  lists: readonly string[],
): readonly Name[] {
  return [...new Set(lists.flatMap((list) => parseCommaList(list, (text) => parseRole(text, roles))))];
}
