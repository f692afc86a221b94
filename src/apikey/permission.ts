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

/** A permission. Its resource may exist only on some servers. */
export type Permission = `${string}:${Action}`;

/** The same as `Permission`. */
export type NamedPermission = Permission;

/** One resource and the actions allowed on it. GraphQL requests and responses contain permissions in this form. */
export interface ResourceActions {
  readonly resource: string;
  readonly actions: readonly Action[];
}

/** A resource that is not one of `RESOURCES`. A server keeps it in its store. */
export interface CustomResource {
  readonly name: string;
  readonly description: string | null;
}

/** The maximum length of the name of a custom resource. */
const MAX_RESOURCE_NAME = 64;

/** Returns whether a text can be the name of a custom resource. Does not check that the name is not in `RESOURCES`. */
export function isResourceName(text: string): boolean {
  return text.length <= MAX_RESOURCE_NAME && /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/.test(text);
}

/** Returns whether a word is one of `RESOURCES`. */
export function isResource(word: string): word is Resource {
  return RESOURCES.some((resource) => resource === word);
}

/** Returns whether a word is one of `ACTIONS`. */
export function isAction(word: string): word is Action {
  return ACTIONS.some((action) => action === word);
}

/** What a user types instead of a resource or an action to select all of them. */
const EVERY = "*";

function expandPermission<Name extends string>(
  text: string,
  { names, every }: KnownResources<Name>,
): readonly `${Name}:${Action}`[] {
  const [word = "", action = "", ...rest] = toUpperCase(text).split(":").map((part) => part.trim());
  const resource = findWord(word, names);
  const actions = action === EVERY ? ACTIONS : ACTIONS.filter((known) => known === action);
  const isPair = actions.length > 0 && rest.length === 0;
  if (isPair && word === EVERY && every === undefined) {
    throw new UnknownName("INVALID_PERMISSION", `Only the server can list the resources for ${quote(text)}.`);
  }
  const resources = word === EVERY ? every : resource && [resource];
  if (isPair && resources !== undefined) {
    return resources.flatMap((resource) => actions.map((action): `${Name}:${Action}` => `${resource}:${action}`));
  }
  throw new (isPair && canBeEnumName(word) ? UnknownName : Failure)(
    "INVALID_PERMISSION",
    explainInvalid(text, word, action, rest.length === 0, names),
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
  const meantResource = resource === EVERY ? EVERY : nearest(resource.replaceAll(EVERY, ""), resources);
  const meantAction = action === EVERY ? EVERY : nearest(action, ACTIONS);
  const meant = meantResource && meantAction && `${meantResource}:${meantAction}`;
  if (resource === "" || action === "" || !hasTwoParts) {
    const example = `An example is ${meantResource ?? "DOCKER"}:${meantAction ?? "READ_ANY"}.`;
    return joinSentences(
      `${quote(text)} does not have the form RESOURCE:ACTION.`,
      meant === undefined ? example : `Did you mean ${meant}?`,
      LIST_OF_RESOURCES_AND_ACTIONS,
    );
  }
  const [typedResource = "", typedAction = ""] = text.split(":").map((part) => part.trim());
  const isActionKnown = isAction(action) || action === EVERY;
  const isResourceKnown = resources.includes(resource) || resource === EVERY;
  if (isAction(resource) && (isResource(action) || action === EVERY)) {
    return joinSentences(
      `${quote(text)} has the action before the resource.`,
      `Did you mean ${action}:${resource}?`,
      LIST_OF_RESOURCES_AND_ACTIONS,
    );
  }
  // The server may know the resource, so the message is only about the action.
  if (!isActionKnown && (isResourceKnown || canBeEnumName(resource))) {
    return joinSentences(
      `${quote(typedAction)} in ${quote(text)} is not an action.`,
      meantAction === undefined ? `The actions are ${ACTIONS.join(", ")}.` : `Did you mean ${meantAction}?`,
      LIST_OF_RESOURCES_AND_ACTIONS,
    );
  }
  const suggestion = isActionKnown ? meantResource : meant;
  return joinSentences(
    `${quote(typedResource)} in ${quote(text)} is not a resource.`,
    suggestion === undefined ? "" : `Did you mean ${suggestion}?`,
    'To list the resources, run "service-api help rights" and "service-api resource list".',
  );
}

const LIST_OF_RESOURCES_AND_ACTIONS = 'To list the resources and actions, run "service-api help rights".';

function joinSentences(...sentences: readonly string[]): string {
  return sentences.filter((sentence) => sentence !== "").join(" ");
}

/** The resources that a user may name in permissions. */
export interface KnownResources<Name extends string = string> {
  readonly names: readonly [Name, ...Name[]];
  /** The resources that `*` stands for. `undefined` if only the server can list them. */
  readonly every: readonly Name[] | undefined;
}

/** The resources of this program, if a server may have others. */
export const OWN_RESOURCES: KnownResources<Resource> = { names: RESOURCES, every: undefined };

/**
 * Parses `RESOURCE:ACTION` pairs for the resources of a server. Ignores case, and spaces around commas and colons. Removes
 * duplicates. Expands wildcards: `DOCKER:*` stands for every action on a
 * resource, `*:READ_ANY` for an action on every resource, and `*:*` for all permissions.
 *
 * @param lists comma-separated lists, which add up
 * @throws {UnknownName} `INVALID_PERMISSION` if a resource is not one of `names`, or if only the server can list the
 * resources that `*` stands for
 * @throws {Failure} `INVALID_PERMISSION` if an item cannot be a permission; the message says how to correct it
 */
export function parsePermissionsOf<Name extends string>(
  resources: KnownResources<Name>,
  lists: readonly string[],
): readonly `${Name}:${Action}`[] {
  const items = lists.flatMap((list) => parseCommaList(list, (text) => text));
  return [...new Set(items.flatMap((text) => expandPermission(text, resources)))];
}

/** Groups `RESOURCE:ACTION` pairs by resource. Resources and actions keep the order of the input. */
export function groupByResource(
  permissions: Iterable<string>,
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
