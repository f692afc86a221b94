/** Reads the filter of `apiKeyConnection`. */
import { Failure, quote } from "../../../apikey/failure.ts";
import type { KeyFilter } from "../../../apikey/key_filter.ts";
import { parseTime } from "../../../apikey/lifetime.ts";
import { type KnownResources, parsePermissionsOf, type Permission } from "../../../apikey/permission.ts";
import type { Role } from "../../../apikey/role.ts";

/** The GraphQL input `ApiKeyFilter`. */
export interface FilterInput {
  readonly match?: string | null;
  readonly role?: Role | null;
  readonly can?: string | null;
  readonly expired?: boolean | null;
  readonly expiresBefore?: string | null;
  readonly unusedSince?: string | null;
  readonly disabled?: boolean | null;
  readonly managedBy?: string | null;
}

/** The maximum length of a pattern, in UTF-16 code units. */
const MAX_PATTERN = 255;

/**
 * @param names the resources of the server
 * @throws {Failure} `INVALID_PERMISSION` if `can` is not one permission
 * @throws {Failure} `USAGE` if a time is not in RFC 3339, or if the pattern is too long
 */
export function parseFilter(
  { can, expiresBefore, unusedSince, ...filter }: FilterInput,
  names: KnownResources["names"],
): KeyFilter {
  if ((filter.match?.length ?? 0) > MAX_PATTERN) {
    throw new Failure("USAGE", `match can have at most ${MAX_PATTERN} characters.`);
  }
  return {
    ...filter,
    can: can === undefined || can === null ? null : parseOnePermission(can, names),
    expiresBefore: parseOptionalTime(expiresBefore),
    unusedSince: parseOptionalTime(unusedSince),
  };
}

function parseOptionalTime(text: string | null | undefined): Date | null {
  return text === undefined || text === null ? null : parseTime(text);
}

function parseOnePermission(text: string, names: KnownResources["names"]): Permission {
  const [permission, ...others] = text.includes("*") ? [] : parsePermissionsOf({ names, every: undefined }, [text]);
  if (permission !== undefined && others.length === 0) return permission;
  throw new Failure(
    "INVALID_PERMISSION",
    `can must be one permission without wildcards, for example DOCKER:READ_ANY, not ${quote(text)}.`,
  );
}
