/** What a key may do to what: `RESOURCE:ACTION` (spec section 2, "Permission pair format"). */
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

/** The actions allowed on one resource: the shape permissions have in GraphQL. */
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
  const resourceFits = isResource(resource);
  const actionFits = isAction(action);
  if (resourceFits && actionFits && rest.length === 0) return `${resource}:${action}`;
  if (typed === "") {
    throw new Failure(
      "INVALID_PERMISSION",
      "There is an empty permission in the list of permissions: look for a comma too many.",
    );
  }
  const role = ROLES.find((known) => known === resource && rest.length === 0 && action === "");
  if (role !== undefined && !resourceFits) {
    throw new Failure("INVALID_PERMISSION", `${quote(typed)} is a role, not a permission: give it with --roles.`);
  }
  const problem = resource === "" || action === "" || rest.length > 0
    ? `The permission ${quote(typed)} is not of the form RESOURCE:ACTION`
    : resourceFits
    ? `There is no action ${quote(action)}, asked for in the permission ${quote(typed)}`
    : `There is no resource ${quote(resource)}, asked for in the permission ${quote(typed)}`;
  const isSwapped = isAction(resource) && isResource(action);
  const meant = isSwapped ? `${action}:${resource}` : `${nearest(resource, RESOURCES)}:${nearest(action, ACTIONS)}`;
  throw new Failure(
    "INVALID_PERMISSION",
    `${problem}; did you mean ${meant}? "service-api apikey --help" lists the resources and actions.`,
  );
}

/**
 * Reads a comma-separated list of `RESOURCE:ACTION` pairs, in any case, with spaces around commas and colons.
 *
 * @throws {Failure} `INVALID_PERMISSION`, naming the one that is none and the nearest one that is
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

/** The opposite of `groupByResource`; pairs that occur twice count once. */
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
