/** Permissions: `RESOURCE:ACTION` pairs (spec section 2, "Permission pair format"). */
import { parseCommaList, toUpperCase } from "./comma_list.ts";
import { Failure, quote } from "./failure.ts";
import { nearest } from "./nearest.ts";
import { ROLES } from "./role.ts";

export const RESOURCES = [
  "ACTIVATION_CODE",
  "API_KEY",
  "ARRAY",
  "CLOUD",
  "CONFIG",
  "CONNECT",
  "CONNECT__REMOTE_ACCESS",
  "CUSTOMIZATIONS",
  "DASHBOARD",
  "DISK",
  "DISPLAY",
  "DOCKER",
  "FLASH",
  "INFO",
  "LOGS",
  "ME",
  "NETWORK",
  "NOTIFICATIONS",
  "ONLINE",
  "OS",
  "OWNER",
  "PERMISSION",
  "REGISTRATION",
  "SERVERS",
  "SERVICES",
  "SHARE",
  "VARS",
  "VMS",
  "WELCOME",
] as const;

export const ACTIONS = [
  "CREATE_ANY",
  "CREATE_OWN",
  "READ_ANY",
  "READ_OWN",
  "UPDATE_ANY",
  "UPDATE_OWN",
  "DELETE_ANY",
  "DELETE_OWN",
] as const;

export type Resource = typeof RESOURCES[number];
export type Action = typeof ACTIONS[number];
export type Permission = `${Resource}:${Action}`;

/** The actions allowed on one resource: the shape of permissions in GraphQL. */
export interface ResourceActions {
  readonly resource: Resource;
  readonly actions: readonly Action[];
}

function isResource(word: string): word is Resource {
  return RESOURCES.some((resource) => resource === word);
}

function isAction(word: string): word is Action {
  return ACTIONS.some((action) => action === word);
}

function parsePermission(typed: string): Permission {
  const [resource = "", action = "", ...rest] = toUpperCase(typed).split(":").map((part) => part.trim());
  if (isResource(resource) && isAction(action) && rest.length === 0) return `${resource}:${action}`;
  throw new Failure("INVALID_PERMISSION", explainInvalid(typed, resource, action, rest.length === 0));
}

/** The message for an invalid permission. `resource` and `action` are its first two parts, in upper case. */
function explainInvalid(typed: string, resource: string, action: string, hasTwoParts: boolean): string {
  if (typed === "") return "The list of permissions contains an empty item. Remove the extra comma.";
  const isRole = ROLES.some((role) => role === resource) && !isResource(resource);
  if (isRole && action === "" && hasTwoParts) {
    return `${quote(typed)} is a role, not a permission. Pass it with --roles.`;
  }
  const problem = resource === "" || action === "" || !hasTwoParts
    ? `The permission ${quote(typed)} does not have the form RESOURCE:ACTION`
    : isResource(resource)
    ? `Unknown action ${quote(action)} in the permission ${quote(typed)}`
    : `Unknown resource ${quote(resource)} in the permission ${quote(typed)}`;
  const isSwapped = isAction(resource) && isResource(action);
  const meant = isSwapped ? `${action}:${resource}` : `${nearest(resource, RESOURCES)}:${nearest(action, ACTIONS)}`;
  return `${problem}. Did you mean ${meant}? To list the resources and actions, run "service-api apikey --help".`;
}

/**
 * Parses a comma-separated list of `RESOURCE:ACTION` pairs, in any case, with or without spaces around commas and
 * colons. Duplicates count once.
 *
 * @throws {Failure} `INVALID_PERMISSION` with the first invalid permission and the nearest valid one
 */
export function parsePermissions(list: string): readonly Permission[] {
  return parseCommaList(list, parsePermission);
}

/** Groups pairs by resource, both in the order of their first appearance. */
export function groupByResource(permissions: Iterable<Permission>): readonly ResourceActions[] {
  const groups = new Map<Resource, Action[]>();
  for (const permission of permissions) {
    const [resource, action] = split(permission);
    const actions = groups.get(resource);
    if (actions === undefined) groups.set(resource, [action]);
    else actions.push(action);
  }
  return [...groups].map(([resource, actions]) => ({ resource, actions }));
}

/** The inverse of `groupByResource`. Duplicates count once. */
export function ungroup(groups: readonly ResourceActions[]): readonly Permission[] {
  return [
    ...new Set(groups.flatMap(({ resource, actions }) => actions.map((action): Permission => `${resource}:${action}`))),
  ];
}

function split(permission: Permission): readonly [Resource, Action] {
  const [resource = "", action = ""] = permission.split(":");
  if (isResource(resource) && isAction(action)) return [resource, action];
  throw new TypeError(`not a permission: ${permission}`);
}
