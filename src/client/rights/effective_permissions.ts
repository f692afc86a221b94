/** Asks a server which permissions a key would have, because the same role grants different permissions on other servers. */
import * as z from "zod/mini";
import { groupByResource, ungroup } from "../../apikey/permission.ts";
import type { Endpoint } from "../endpoint.ts";
import { execute, ifAnswered } from "../execute.ts";

/** `RESOURCE:ACTION` pairs. The server may have resources and actions that this program does not know. */
export type PermissionSet = ReadonlySet<string>;

/** The permissions that a key with these roles and permissions has on its server. */
export interface EffectivePermissions {
  readonly roles: readonly string[];
  /** What the roles grant; `undefined` if there are roles and the server does not report it. */
  readonly byRoles: PermissionSet | undefined;
  /** What the permissions grant, including permissions that the server derives from them. */
  readonly byPermissions: PermissionSet;
}

export const PREVIEW_PERMISSIONS = `query PreviewPermissions($roles: [Role!], $permissions: [AddPermissionInput!]) {
  byRoles: previewEffectivePermissions(roles: $roles) { resource actions }
  byPermissions: previewEffectivePermissions(permissions: $permissions) { resource actions }
}`;

export const PERMISSIONS_FOR_ROLES = `query PermissionsForRoles($roles: [Role!]!) {
  getPermissionsForRoles(roles: $roles) { resource actions }
}`;

/**
 * Asks with `previewEffectivePermissions`. If the server does not answer that, asks with `getPermissionsForRoles`.
 *
 * @throws {Failure} any failure of {@linkcode execute}, except FAILED, FORBIDDEN and BAD_RESPONSE
 */
export async function effectivePermissions(
  endpoint: Endpoint,
  { roles, permissions }: { readonly roles: readonly string[]; readonly permissions: readonly string[] },
): Promise<EffectivePermissions> {
  const preview = await ifAnswered(() =>
    execute(
      endpoint,
      PREVIEW_PERMISSIONS,
      { roles, permissions: groupByResource(permissions) },
      () => z.object({ byRoles: permissionGroups(), byPermissions: permissionGroups() }),
    )
  );
  if (preview !== undefined) {
    const { byRoles, byPermissions } = preview;
    return { roles, byRoles: new Set(ungroup(byRoles)), byPermissions: new Set(ungroup(byPermissions)) };
  }
  const byPermissions = new Set(permissions);
  if (roles.length === 0) return { roles, byRoles: new Set(), byPermissions };
  const granted = await ifAnswered(() =>
    execute(
      endpoint,
      PERMISSIONS_FOR_ROLES,
      { roles },
      () => z.object({ getPermissionsForRoles: permissionGroups() }),
    )
  );
  return { roles, byRoles: granted && new Set(ungroup(granted.getPermissionsForRoles)), byPermissions };
}

type Groups = readonly { readonly resource: string; readonly actions: readonly string[] }[];

/** Accepts only names (GraphQL specification, section 2.1.9), because the terminal shows them. */
function permissionGroups(): z.ZodMiniType<Groups> {
  const name = z.string().check(z.regex(/^\w+$/));
  return z.array(z.object({ resource: name, actions: z.array(name) }));
}
