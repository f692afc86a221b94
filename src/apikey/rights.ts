/**
 * What the holder of a key may do: the roles and permissions of the key spelled out as `RESOURCE:ACTION` pairs.
 * DESIGN of the roles: ADMIN holds every action on every resource, VIEWER READ_ANY on every resource, CONNECT
 * every action on CONNECT and CONNECT__REMOTE_ACCESS, GUEST READ_OWN on ME; `_ANY` contains `_OWN`.
 */
import { Failure } from "./failure.ts";
import { ACTIONS, type Permission, RESOURCES } from "./permission.ts";
import type { Role } from "./role.ts";

/** A set of rights that is complete: with `X:READ_ANY` it also has `X:READ_OWN`. */
export type Rights = ReadonlySet<Permission>;

const EVERY_PERMISSION: readonly Permission[] = RESOURCES.flatMap((resource) =>
  ACTIONS.map((action): Permission => `${resource}:${action}`)
);

const GRANTS: Readonly<Record<Role, (permission: Permission) => boolean>> = {
  ADMIN: () => true,
  VIEWER: (permission) => permission.endsWith(":READ_ANY"),
  CONNECT: (permission) => permission.startsWith("CONNECT:") || permission.startsWith("CONNECT__REMOTE_ACCESS:"),
  GUEST: (permission) => permission === "ME:READ_OWN",
};

/** For each permission on one's own the one that contains it; for each of the others itself. */
const CONTAINING: ReadonlyMap<Permission, string> = new Map(
  EVERY_PERMISSION.map((permission) => [permission, permission.replace(/_OWN$/, "_ANY")]),
);

/** The rights that roles and permissions give together. */
export function rightsOf(roles: readonly Role[], permissions: readonly Permission[]): Rights {
  const given = new Set<string>(permissions);
  for (const role of roles) {
    for (const permission of EVERY_PERMISSION) if (GRANTS[role](permission)) given.add(permission);
  }
  return new Set(
    EVERY_PERMISSION.filter((permission) =>
      given.has(permission) || given.has(CONTAINING.get(permission) ?? permission)
    ),
  );
}

/** Every right there is. */
export const EVERY_RIGHT: Rights = new Set(EVERY_PERMISSION);

/** The rights of `wanted` that `held` lacks, in the order of the lists of resources and actions. */
export function missingRights(held: Rights, wanted: Rights): readonly Permission[] {
  return [...wanted].filter((permission) => !held.has(permission));
}

/**
 * Refuses a key that could do nothing (spec 4.1 rule 1).
 *
 * @throws {Failure} `NO_RIGHTS` when there is neither a role nor a permission
 */
export function requireSomeRights(roles: readonly Role[], permissions: readonly Permission[]): void {
  if (roles.length > 0 || permissions.length > 0) return;
  throw new Failure("NO_RIGHTS", "A key needs at least one role or permission: give --roles or --permissions.");
}
