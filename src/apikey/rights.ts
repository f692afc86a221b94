/**
 * The rights of a key on the embedded server: every `RESOURCE:ACTION` pair that any of its roles or permissions allows.
 */
import { Failure } from "./failure.ts";
import { ACTIONS, type NamedPermission, type Permission, RESOURCES } from "./permission.ts";
import { isRole, type Role } from "./role.ts";

/** If the set contains the `_ANY` form of an action on a resource, it also contains the `_OWN` form. */
export type Rights = ReadonlySet<Permission>;

const EVERY_PERMISSION: readonly Permission[] = RESOURCES.flatMap((resource) =>
  ACTIONS.map((action): Permission => `${resource}:${action}`)
);

const GRANTS: Readonly<Record<Role, (permission: string) => boolean>> = {
  ADMIN: () => true,
  VIEWER: (permission) => permission.endsWith(":READ_ANY"),
  CONNECT: (permission) => permission.startsWith("CONNECT:") || permission.startsWith("CONNECT__REMOTE_ACCESS:"),
  GUEST: (permission) => permission === "ME:READ_OWN",
};

/** Maps each `_OWN` permission to the `_ANY` permission that includes it, and each `_ANY` permission to itself. */
const INCLUDED_IN: ReadonlyMap<Permission, string> = new Map(
  EVERY_PERMISSION.map((permission) => [permission, permission.replace(/_OWN$/, "_ANY")]),
);

/** The rights that any of the roles or permissions grants. */
export function rightsOf(roles: readonly Role[], permissions: readonly Permission[]): Rights {
  const granted = new Set<string>(permissions);
  for (const role of roles) {
    for (const permission of EVERY_PERMISSION) if (GRANTS[role](permission)) granted.add(permission);
  }
  return new Set(
    EVERY_PERMISSION.filter((permission) =>
      granted.has(permission) || granted.has(INCLUDED_IN.get(permission) ?? permission)
    ),
  );
}

/** Returns whether any of the roles or permissions grants one right. Faster than `rightsOf` for many keys. */
export function grantsRight(roles: readonly string[], permissions: readonly string[], right: NamedPermission): boolean {
  const included = [right, right.replace(/_OWN$/, "_ANY")];
  return permissions.some((permission) => included.includes(permission)) ||
    roles.filter(isRole).some((role) => included.some(GRANTS[role]));
}

/** Every action on every resource. */
export const EVERY_RIGHT: Rights = new Set(EVERY_PERMISSION);

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
