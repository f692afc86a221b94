/**
 * The custom resources of a store, and the rules that both SQLite and PostgreSQL enforce: their names are unique, there
 * are at most 1,000, keys can get permissions only on resources that exist, and a resource that a key names stays.
 */
import { Failure, quote } from "../../apikey/failure.ts";
import { type CustomResource, isResource, type Permission } from "../../apikey/permission.ts";
import { shellWord } from "../../apikey/shell_word.ts";

/** The custom resources at one time. */
export interface ResourceList {
  /** Increases with each change of the list. 0 if the list never changed. */
  readonly revision: number;
  /** In the order of their names. */
  readonly resources: readonly CustomResource[];
}

/** The list of a store in which no resource was ever added. */
export const NO_RESOURCES: ResourceList = { revision: 0, resources: [] };

/** The maximum number of custom resources. */
const MAX_RESOURCES = 1000;

/**
 * Throws unless a resource can be added to a list.
 *
 * @param held the description of the resource with the same name; `undefined` if there is none
 * @param count how many resources there are
 * @throws {Failure} `ALREADY_EXISTS` or `FAILED`
 */
export function requireAddable(
  { name, description }: CustomResource,
  held: Pick<CustomResource, "description"> | undefined,
  count: number,
): void {
  if (held !== undefined) {
    const difference = held.description === description
      ? ""
      : " Its description is different, and cannot be changed. If no key has a permission on the resource, you can " +
        "remove the resource and add it again.";
    throw new Failure("ALREADY_EXISTS", `The resource ${name} already exists.${difference}`);
  }
  if (count < MAX_RESOURCES) return;
  throw new Failure(
    "FAILED",
    `There are already ${MAX_RESOURCES.toLocaleString("en")} custom resources. Remove one before you add ${name}.`,
  );
}

/** Returns the failure of removing a resource that does not exist. */
export function resourceNotFound(name: string): Failure {
  return new Failure(
    "NOT_FOUND",
    isResource(name)
      ? `The resource ${name} is built in and cannot be removed.`
      : `No resource found with name: ${quote(name)}. To list the resources, run "service-api resource list".`,
  );
}

/** How many names of keys to read for `requireUnused`. */
export const KEYS_TO_NAME = 4;

/**
 * Throws if any key has a permission on the resource.
 *
 * @param keys the names of at most `KEYS_TO_NAME` keys that have one
 * @throws {Failure} `FAILED`
 */
export function requireUnused(name: string, keys: readonly string[]): void {
  if (keys.length === 0) return;
  const [first = ""] = keys;
  const [owners, run, key] = keys.length === 1
    ? ["the key", "Run", shellWord(first)]
    : ["the keys", "For each key, run", "NAME"];
  const named = keys.slice(0, KEYS_TO_NAME - 1).map(quote).join(", ");
  const others = keys.length < KEYS_TO_NAME ? "" : " and others";
  throw new Failure(
    "FAILED",
    `The resource ${name} is in the permissions of ${owners} ${named}${others}. ` +
      `${run} "service-api apikey update ${key} --remove-permissions '${name}:*'" or, if the key has no other rights, ` +
      `"service-api apikey delete ${key}".`,
  );
}

/**
 * Returns the names of the custom resources on which a change grants permissions.
 *
 * @param held the permissions before the change
 */
export function newResources(granted: readonly Permission[], held: readonly Permission[] = []): readonly string[] {
  const names = granted.filter((permission) => !held.includes(permission)).map((permission) =>
    permission.slice(0, permission.indexOf(":"))
  );
  return [...new Set(names)].filter((name) => !isResource(name));
}

/**
 * Throws unless each of the resources exists.
 *
 * @param existing those of the resources that exist
 * @throws {Failure} `INVALID_PERMISSION`
 */
export function requireExisting(names: readonly string[], existing: readonly string[]): void {
  const missing = names.find((name) => !existing.includes(name));
  if (missing === undefined) return;
  throw new Failure(
    "INVALID_PERMISSION",
    `Unknown resource ${quote(missing)}. It may have been removed in the meantime. To list the resources, run ` +
      '"service-api resource list".',
  );
}
