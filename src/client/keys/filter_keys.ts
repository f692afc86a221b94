/** Filters keys on this side, for servers that do not filter. */
import { type FilteredKey, type KeyFilter, matchesFilter } from "../../apikey/key_filter.ts";
import type { Endpoint } from "../endpoint.ts";
import { effectivePermissions, type PermissionSet } from "../rights/effective_permissions.ts";
import type { ApiKey, KeyField } from "./api_key.ts";
import { unsupported } from "./server_fields.ts";

/** The fields that a filter reads, except the name. */
export function fieldsOf(
  { role, can, expired, expiresBefore, unusedSince, disabled, managedBy }: KeyFilter,
): KeyField[] {
  return [
    ...(role === undefined ? [] : ["roles"] as const),
    ...(can === undefined ? [] : ["roles", "permissions"] as const),
    ...(expired === undefined && expiresBefore === undefined ? [] : ["expiresAt"] as const),
    ...(unusedSince === undefined ? [] : ["lastUsedAt", "createdAt"] as const),
    ...(disabled === undefined ? [] : ["enabled"] as const),
    ...(managedBy === undefined ? [] : ["managedBy"] as const),
  ];
}

/**
 * Returns a function that filters pages of keys. It asks the server what its roles grant, once for each role.
 *
 * @throws {Failure} `UNSUPPORTED` if the filter needs what a role grants and the server does not report it
 */
export function createKeyFilter(
  endpoint: Endpoint,
  { can, ...filter }: KeyFilter,
  now: Date,
): (keys: readonly ApiKey[]) => Promise<readonly ApiKey[]> {
  const grants = new Map<string, PermissionSet>();

  async function grantedBy(role: string): Promise<PermissionSet> {
    const known = grants.get(role);
    if (known !== undefined) return known;
    const { byRoles } = await effectivePermissions(endpoint, { roles: [role], permissions: [] });
    if (byRoles === undefined) {
      throw unsupported(
        endpoint,
        "Query.getPermissionsForRoles",
        "To find keys by their roles instead, filter by role.",
      );
    }
    grants.set(role, byRoles);
    return byRoles;
  }

  async function mayDo({ roles, permissions }: ApiKey, right: string): Promise<boolean> {
    if (permissions?.includes(right)) return true;
    for (const role of roles ?? []) {
      // deno-lint-ignore no-await-in-loop -- asks only for the roles that matter
      if ((await grantedBy(role)).has(right)) return true;
    }
    return false;
  }

  return async (keys) => {
    const matching = keys.filter((key) => matchesFilter(toFilteredKey(key), filter, now));
    if (can === undefined || can === null) return matching;
    const allowed: ApiKey[] = [];
    for (const key of matching) {
      // deno-lint-ignore no-await-in-loop -- asks the server only once for each role
      if (await mayDo(key, can)) allowed.push(key);
    }
    return allowed;
  };
}

/** What a server does not report, or reports in a format that is not a time, never matches. */
function toFilteredKey(key: ApiKey): FilteredKey {
  const { name, roles, permissions, createdAt, lastUsedAt, enabled, expiresAt, managedBy } = key;
  return {
    name,
    roles: roles ?? [],
    permissions: permissions ?? [],
    createdAt: new Date(createdAt ?? NaN),
    lastUsedAt: lastUsedAt === null ? null : new Date(lastUsedAt),
    enabled: enabled ?? true,
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    managedBy,
  };
}
