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

/** One resource and the actions allowed on it. GraphQL requests and responses contain permissions in this form. */
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

function parsePermission(text: string): Permission {
  const [resource = "", action = "", ...rest] = toUpperCase(text).split(":").map((part) => part.trim());
  if (isResource(resource) && isAction(action) && rest.length === 0) return `${resource}:${action}`;
  throw new Failure("INVALID_PERMISSION", explainInvalid(text, resource, action, rest.length === 0));
}

/** Returns the message for an invalid permission. `resource` and `action` are its first two parts, in upper case. */
function explainInvalid(text: string, resource: string, action: string, hasTwoParts: boolean): string {
  if (text === "") return "The list of permissions contains an empty item. Remove the extra comma.";
  const isRole = ROLES.some((role) => role === resource) && !isResource(resource);
  if (isRole && action === "" && hasTwoParts) {
    return `${quote(text)} is a role, not a permission. Pass it with --roles.`;
  }
  const problem = resource === "" || action === "" || !hasTwoParts
    ? `The permission ${quote(text)} does not have the form RESOURCE:ACTION`
    : isResource(resource)
    ? `Unknown action ${quote(action)} in the permission ${quote(text)}`
    : `Unknown resource ${quote(resource)} in the permission ${quote(text)}`;
  const isSwapped = isAction(resource) && isResource(action);
  const suggestion = isSwapped
    ? `${action}:${resource}`
    : `${nearest(resource, RESOURCES)}:${nearest(action, ACTIONS)}`;
  return `${problem}. Did you mean ${suggestion}? To list the resources and actions, run "service-api apikey --help".`;
}

/**
 * Parses a comma-separated list of `RESOURCE:ACTION` pairs. Ignores case, and spaces around commas and colons. Removes
 * duplicates.
 *
 * @throws {Failure} `INVALID_PERMISSION`; its message describes the first invalid item and how to correct it
 */
export function parsePermissions(list: string): readonly Permission[] {
  return parseCommaList(list, parsePermission);
}

/** Groups permissions by resource. Resources and actions keep the order of the input. */
export function groupByResource(permissions: Iterable<Permission>): readonly ResourceActions[] {
  const groups = new Map<Resource, Action[]>();
  for (const permission of permissions) {
    const [resource, action] = splitPermission(permission);
    const actions = groups.get(resource);
    if (actions === undefined) groups.set(resource, [action]);
    else actions.push(action);
  }
  return [...groups].map(([resource, actions]) => ({ resource, actions }));
}

/** The inverse of `groupByResource`. Removes duplicates. */
export function ungroup(groups: readonly ResourceActions[]): readonly Permission[] {
  return [
    ...new Set(groups.flatMap(({ resource, actions }) => actions.map((action): Permission => `${resource}:${action}`))),
  ];
}

function splitPermission(permission: Permission): readonly [Resource, Action] {
  const [resource = "", action = ""] = permission.split(":");
  if (isResource(resource) && isAction(action)) return [resource, action];
  throw new TypeError(`not a permission: ${permission}`);
}
