/**
 * The rights of a key on the embedded server: every `RESOURCE:ACTION` pair that any of its roles or permissions allows.
 */
import { Failure } from "./failure.ts";
import { ACTIONS, type Permission, RESOURCES } from "./permission.ts";
import { isRole, type Role } from "./role.ts";

/** If the set contains the `_ANY` form of an action on a resource, it also contains the `_OWN` form. */
export type Rights = ReadonlySet<Permission>;

const GRANTS: Readonly<Record<Role, (permission: string) => boolean>> = {
  ADMIN: () => true,
  VIEWER: (permission) => permission.endsWith(":READ_ANY"),
  CONNECT: (permission) => permission.startsWith("CONNECT:") || permission.startsWith("CONNECT__REMOTE_ACCESS:"),
  GUEST: (permission) => permission === "ME:READ_OWN",
};

/** The permissions on some resources, and for each permission the `_ANY` permission that includes it. */
type Inclusions = ReadonlyMap<Permission, string>;

const INCLUSIONS = new WeakMap<readonly string[], Inclusions>();

function inclusionsOf(resources: readonly string[]): Inclusions {
  const known = INCLUSIONS.get(resources);
  if (known !== undefined) return known;
  const permissions = resources.flatMap((resource) => ACTIONS.map((action): Permission => `${resource}:${action}`));
  const inclusions = new Map(permissions.map((permission) => [permission, permission.replace(/_OWN$/, "_ANY")]));
  INCLUSIONS.set(resources, inclusions);
  return inclusions;
}

/**
 * The rights that any of the roles or permissions grants.
 *
 * @param resources every resource of the server; permissions on other resources grant nothing
 */
export function rightsOf(
  roles: readonly Role[],
  permissions: readonly Permission[],
  resources: readonly string[] = RESOURCES,
): Rights {
  const inclusions = inclusionsOf(resources);
  const granted = new Set<string>(permissions);
  for (const role of roles) {
    for (const permission of inclusions.keys()) if (GRANTS[role](permission)) granted.add(permission);
  }
  const rights = new Set<Permission>();
  for (const [permission, including] of inclusions) {
    if (granted.has(permission) || granted.has(including)) rights.add(permission);
  }
  return rights;
}

/** Returns whether any of the roles or permissions grants one right. Faster than `rightsOf` for many keys. */
export function grantsRight(roles: readonly string[], permissions: readonly string[], right: Permission): boolean {
  const included = [right, right.replace(/_OWN$/, "_ANY")];
  return permissions.some((permission) => included.includes(permission)) ||
    roles.filter(isRole).some((role) => included.some(GRANTS[role]));
}

/** Every action on every one of `RESOURCES`. */
export const EVERY_RIGHT: Rights = new Set(inclusionsOf(RESOURCES).keys());

/** The required rights that `held` does not contain, in the order of `required`. */
export function missingRights(held: Rights, required: Rights): readonly Permission[] {
  return [...required].filter((permission) => !held.has(permission));
}

/**
 * Checks that at least one role or permission is given (spec section 4.1, rule 1).
 *
 * @throws {Failure} `NO_RIGHTS`
 */
export function requireSomeRights(roles: readonly string[], permissions: readonly string[]): void {
  if (roles.length > 0 || permissions.length > 0) return;
  throw new Failure("NO_RIGHTS", "A key needs at least one role or permission. Add --roles or --permissions.");
}
