/** Permissions: `RESOURCE:ACTION` pairs (spec section 2, "Permission pair format"). */
import { findWord, parseCommaList, toUpperCase } from "./comma_list.ts";
import { Failure, quote } from "./failure.ts";
import { nearest } from "./nearest.ts";
import { isRole } from "./role.ts";
import { canBeEnumName, UnknownName } from "./unknown_name.ts";

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

/** A permission whose resource may exist only on another server. */
export type NamedPermission = `${string}:${Action}`;

/** One resource and the actions allowed on it. GraphQL requests and responses contain permissions in this form. */
export interface ResourceActions {
  readonly resource: Resource;
  readonly actions: readonly Action[];
}

/** Whether a word is one of `RESOURCES`. */
export function isResource(word: string): word is Resource {
  return RESOURCES.some((resource) => resource === word);
}

function isAction(word: string): word is Action {
  return ACTIONS.some((action) => action === word);
}

function parsePermission<Name extends string>(
  text: string,
  resources: readonly [Name, ...Name[]],
): `${Name}:${Action}` {
  const [word = "", action = "", ...rest] = toUpperCase(text).split(":").map((part) => part.trim());
  const resource = findWord(word, resources);
  const isPair = isAction(action) && rest.length === 0;
  if (resource !== undefined && isPair) return `${resource}:${action}`;
  const isUnknown = resource === undefined && isPair && canBeEnumName(word);
  throw new (isUnknown ? UnknownName : Failure)(
    "INVALID_PERMISSION",
    explainInvalid(text, word, action, rest.length === 0, resources),
  );
}

/** Returns the message for an invalid permission. `resource` and `action` are its first two parts, in upper case. */
function explainInvalid(
  text: string,
  resource: string,
  action: string,
  hasTwoParts: boolean,
  resources: readonly [string, ...string[]],
): string {
  if (text === "") return "The list of permissions contains an empty item. Remove the extra comma.";
  if (isRole(resource) && !isResource(resource) && action === "" && hasTwoParts) {
    return `${quote(text)} is a role, not a permission. Pass it with --roles.`;
  }
  const isSwapped = isAction(resource) && isResource(action);
  // The server may know the resource, so the message does not call it unknown.
  const isOnlyActionWrong = !isAction(action) && !isSwapped && canBeEnumName(resource);
  const problem = resource === "" || action === "" || !hasTwoParts
    ? `The permission ${quote(text)} does not have the form RESOURCE:ACTION`
    : resources.includes(resource) || isOnlyActionWrong
    ? `Unknown action ${quote(action)} in the permission ${quote(text)}`
    : `Unknown resource ${quote(resource)} in the permission ${quote(text)}`;
  const suggestion = isSwapped
    ? `${action}:${resource}`
    : hasTwoParts && action !== "" && isOnlyActionWrong && !resources.includes(resource)
    ? `the action ${nearest(action, ACTIONS)}`
    : `${nearest(resource, resources)}:${nearest(action, ACTIONS)}`;
  return `${problem}. Did you mean ${suggestion}? To list the resources and actions, run "service-api apikey --help".`;
}

/**
 * Parses a comma-separated list of `RESOURCE:ACTION` pairs. Ignores case, and spaces around commas and colons. Removes
 * duplicates.
 *
 * @throws {Failure} `INVALID_PERMISSION`; its message describes the first invalid item and how to correct it
 */
export function parsePermissions(list: string): readonly Permission[] {
  return parsePermissionsOf(RESOURCES, list);
}

/**
 * Parses a list of permissions for the resources of a server.
 *
 * @param resources the resources of the server
 * @throws {UnknownName} `INVALID_PERMISSION` if a resource is not one of `resources`
 * @throws {Failure} `INVALID_PERMISSION` if an item cannot be a permission
 */
export function parsePermissionsOf<Name extends string>(
  resources: readonly [Name, ...Name[]],
  list: string,
): readonly `${Name}:${Action}`[] {
  return parseCommaList(list, (text) => parsePermission(text, resources));
}

/** Groups permissions by resource. Resources and actions keep the order of the input. */
export function groupByResource(
  permissions: Iterable<NamedPermission>,
): readonly { readonly resource: string; readonly actions: readonly string[] }[] {
  const groups = new Map<string, string[]>();
  for (const permission of permissions) {
    const [resource = "", action = ""] = permission.split(":");
    const actions = groups.get(resource);
    if (actions === undefined) groups.set(resource, [action]);
    else actions.push(action);
  }
  return [...groups].map(([resource, actions]) => ({ resource, actions }));
}

/** The inverse of `groupByResource`. Removes duplicates. */
export function ungroup<ResourceName extends string, ActionName extends string>(
  groups: readonly { readonly resource: ResourceName; readonly actions: readonly ActionName[] }[],
): readonly `${ResourceName}:${ActionName}`[] {
  const pairs = groups.flatMap(({ resource, actions }) => actions.map((action) => `${resource}:${action}` as const));
  return [...new Set(pairs)];
}
