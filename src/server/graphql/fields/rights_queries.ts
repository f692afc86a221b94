/** The queries about roles, permissions and the rights that they grant. */
import { ACTIONS, groupByResource, type ResourceActions, ungroup } from "../../../apikey/permission.ts";
import { rightsOf } from "../../../apikey/rights.ts";
import { type Role, ROLES } from "../../../apikey/role.ts";
import { RULES } from "../../auth/authorization.ts";
import { permission } from "../types/api_key.ts";
import { addPermissionInput } from "../types/inputs.ts";
import { authAction, role } from "../types/words.ts";
import { listOf, optionalListOf } from "../types/wrappers.ts";
import { authorized } from "./authorized.ts";

const { Query } = RULES;

export const apiKeyPossibleRoles = authorized(Query.apiKeyPossibleRoles, {
  type: listOf(role),
  description: "Every role that a key can have.",
  resolve: () => ROLES,
});

export const apiKeyPossiblePermissions = authorized(Query.apiKeyPossiblePermissions, {
  type: listOf(permission),
  description: "Every permission that a key can have.",
  resolve: (_given, { caller: { resources } }) => groupByResource(rightsOf(["ADMIN"], [], resources.names)),
});

export const getAvailableAuthActions = authorized(Query.getAvailableAuthActions, {
  type: listOf(authAction),
  description: "Every action that a permission can allow.",
  resolve: () => ACTIONS,
});

interface PreviewArguments {
  readonly roles?: readonly Role[] | null;
  readonly permissions?: readonly ResourceActions[] | null;
}

export const previewEffectivePermissions = authorized<PreviewArguments>(Query.previewEffectivePermissions, {
  type: listOf(permission),
  description: "Every permission that a key with these roles and permissions has.",
  args: { roles: { type: optionalListOf(role) }, permissions: { type: optionalListOf(addPermissionInput) } },
  resolve: ({ roles, permissions }, { caller: { resources } }) =>
    groupByResource(rightsOf(roles ?? [], ungroup(permissions ?? []), resources.names)),
});

export const getPermissionsForRoles = authorized<{ readonly roles: readonly Role[] }>(Query.getPermissionsForRoles, {
  type: listOf(permission),
  description: "Every permission that a key with these roles has.",
  args: { roles: { type: listOf(role) } },
  resolve: ({ roles }, { caller: { resources } }) => groupByResource(rightsOf(roles, [], resources.names)),
});
