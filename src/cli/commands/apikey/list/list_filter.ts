/** Reads the flags of `apikey list` that select keys. */
import { Failure, quote } from "../../../../apikey/failure.ts";
import type { KeyFilter } from "../../../../apikey/key_filter.ts";
import { parseDuration } from "../../../../apikey/lifetime.ts";
import { type KnownResources, type NamedPermission, parsePermissionsOf } from "../../../../apikey/permission.ts";
import { parseRolesOf } from "../../../../apikey/role.ts";
import { parseAt } from "../../../settings/parse_at.ts";
import { type FilterFlags, parseFilter } from "../filter_flags.ts";
import type { KnownNames } from "../known_names.ts";

/** The flags as typed. */
export interface ListFilterFlags extends FilterFlags {
  readonly role?: string | undefined;
  readonly can?: string | undefined;
  readonly expiring?: string | undefined;
  readonly disabled?: true | undefined;
}

/**
 * Parses the flags.
 *
 * @param now durations count from this time
 * @returns `undefined` if no flag is given
 * @throws {UnknownName} if only the server can know the role or the resource
 * @throws {Failure} `INVALID_ROLE`, `INVALID_PERMISSION`, `USAGE`
 */
export function parseListFilter(flags: ListFilterFlags, known: KnownNames, now: Date): KeyFilter | undefined {
  const { role, can, expiring, disabled } = flags;
  const filter: KeyFilter = {
    ...parseFilter(flags, now),
    ...(role === undefined ? {} : { role: parseOneRole(role, known.roles) }),
    ...(can === undefined ? {} : { can: parseOnePermission(can, known.resources) }),
    ...(expiring === undefined ? {} : { expiresBefore: parseExpiring(expiring, now) }),
    ...(disabled === undefined ? {} : { disabled }),
  };
  return Object.keys(filter).length === 0 ? undefined : filter;
}

function parseExpiring(duration: string, now: Date): Date {
  return new Date(now.getTime() + parseAt("--expiring", () => parseDuration(duration)));
}

function parseOneRole(text: string, roles: KnownNames["roles"]): string {
  const [role, ...others] = parseAt("--role", () => parseRolesOf(roles, [text]));
  if (role !== undefined && others.length === 0) return role;
  throw new Failure("INVALID_ROLE", `--role takes one role, not ${quote(text)}.`);
}

function parseOnePermission(text: string, resources: KnownResources): NamedPermission {
  const [permission, ...others] = text.includes("*")
    ? []
    : parseAt("--can", () => parsePermissionsOf(resources, [text]));
  if (permission !== undefined && others.length === 0) return permission;
  throw new Failure(
    "INVALID_PERMISSION",
    `--can takes one permission without wildcards, for example DOCKER:READ_ANY, not ${quote(text)}.`,
  );
}
