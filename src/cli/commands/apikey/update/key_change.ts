/** What the flags of `apikey update` change about a key. */
import { parseDescription } from "../../../../apikey/description.ts";
import { Failure, quote } from "../../../../apikey/failure.ts";
import type { ExpiryFlags } from "../../../../apikey/lifetime.ts";
import { type Name, parseName } from "../../../../apikey/name.ts";
import { parsePermissionsOf } from "../../../../apikey/permission.ts";
import { parseRolesOf } from "../../../../apikey/role.ts";
import type { ApiKey, KeyChanges } from "../../../../client/client.ts";
import { parseAt, parseExpiry } from "../../../settings/parse_at.ts";
import type { KnownNames } from "../known_names.ts";

/** The flags as typed. */
export interface ChangeFlags extends ExpiryFlags {
  readonly rename?: string | undefined;
  readonly description?: string | undefined;
  readonly roles?: readonly string[] | undefined;
  readonly addRoles?: readonly string[] | undefined;
  readonly removeRoles?: readonly string[] | undefined;
  readonly permissions?: readonly string[] | undefined;
  readonly addPermissions?: readonly string[] | undefined;
  readonly removePermissions?: readonly string[] | undefined;
  /** `false` with `--no-expiry`. */
  readonly expiry?: boolean | undefined;
  readonly enable?: true | undefined;
  readonly disable?: true | undefined;
}

/** The parsed flags. What is `undefined` does not change. */
export interface KeyChange {
  readonly name: Name | undefined;
  /** `null` removes the description. */
  readonly description: string | null | undefined;
  readonly roles: ListChange | undefined;
  readonly permissions: ListChange | undefined;
  /** `null` removes the expiry. */
  readonly expiresAt: Date | null | undefined;
  readonly enabled: boolean | undefined;
}

interface ListChange {
  /** Replaces all items. */
  readonly set: readonly string[] | undefined;
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/**
 * @throws {UnknownName} if only the server may know a role or resource
 * @throws {Failure} `INVALID_NAME`, `INVALID_ROLE`, `INVALID_PERMISSION`; `USAGE` if a value is invalid, if flags
 * contradict each other, or if there is no change
 */
export function parseChange(flags: ChangeFlags, { roles, resources }: KnownNames, now: Date): KeyChange {
  const { rename, description, enable, disable } = flags;
  if (enable && disable) throw new Failure("USAGE", "Use either --enable or --disable, not both.");
  if (flags.expiry === false && (flags.expiresIn ?? flags.expiresAt) !== undefined) {
    throw new Failure(
      "USAGE",
      `Use either --no-expiry or ${flags.expiresIn ? "--expires-in" : "--expires-at"}, not both.`,
    );
  }
  const change: KeyChange = {
    name: rename === undefined ? undefined : parseAt("--rename", () => parseName(rename)),
    description: description === undefined ? undefined : parseDescription(description) || null,
    roles: parseLists("roles", [flags.roles, flags.addRoles, flags.removeRoles], (lists) => parseRolesOf(roles, lists)),
    permissions: parseLists(
      "permissions",
      [flags.permissions, flags.addPermissions, flags.removePermissions],
      (lists) => parsePermissionsOf(resources, lists),
    ),
    expiresAt: flags.expiry === false ? null : parseExpiry(flags, now),
    enabled: enable ? true : disable ? false : undefined,
  };
  if (Object.values(change).some((value) => value !== undefined)) return change;
  throw new Failure(
    "USAGE",
    "Nothing to change. Add a flag, for example --add-roles. See service-api apikey update --help.",
  );
}

type Lists = readonly string[] | undefined;

function parseLists(
  noun: "roles" | "permissions",
  [setLists, addLists, removeLists]: readonly [Lists, Lists, Lists],
  parse: (lists: readonly string[]) => readonly string[],
): ListChange | undefined {
  if (setLists === undefined && addLists === undefined && removeLists === undefined) return undefined;
  if (setLists !== undefined && (addLists !== undefined || removeLists !== undefined)) {
    throw new Failure("USAGE", `--${noun} replaces all ${noun}. Omit it, or omit --add-${noun} and --remove-${noun}.`);
  }
  const add = parseAt(`--add-${noun}`, () => parse(addLists ?? []));
  const remove = parseAt(`--remove-${noun}`, () => parse(removeLists ?? []));
  const both = add.find((item) => remove.includes(item));
  if (both !== undefined) throw new Failure("USAGE", `${both} is in both --add-${noun} and --remove-${noun}.`);
  return { set: setLists && parseAt(`--${noun}`, () => parse(setLists)), add, remove };
}

/**
 * Returns the members of a key that a change gives other values, with the new values.
 *
 * @throws {Failure} `NO_RIGHTS` if the key would have neither roles nor permissions
 */
export function changesOf(key: ApiKey, change: KeyChange): KeyChanges {
  const { name, description, enabled } = change;
  const roles = changeList(key.roles, change.roles);
  const permissions = changeList(key.permissions, change.permissions);
  const expiresAt = change.expiresAt === undefined ? undefined : change.expiresAt?.toISOString() ?? null;
  const changes: KeyChanges = {
    ...name !== undefined && name !== key.name.normalize("NFC") && { name },
    ...description !== undefined && description !== key.description && { description },
    ...roles && !haveSameItems(roles, key.roles) && { roles },
    ...permissions && !haveSameItems(permissions, key.permissions) && { permissions },
    ...expiresAt !== undefined && expiresAt !== toUtc(key.expiresAt) && { expiresAt },
    ...enabled !== undefined && enabled !== key.enabled && { enabled },
  };
  const after = { ...key, ...changes };
  if (after.roles?.length === 0 && after.permissions?.length === 0) {
    throw new Failure(
      "NO_RIGHTS",
      `The key ${
        quote(key.name)
      } would have no rights left. A key needs at least one role or permission. To block the ` +
        "key, use --disable.",
    );
  }
  return changes;
}

function changeList(held: readonly string[] | null, change: ListChange | undefined): readonly string[] | undefined {
  if (change === undefined) return undefined;
  const items = new Set([...change.set ?? held ?? [], ...change.add]);
  for (const item of change.remove) items.delete(item);
  return [...items];
}

/** Whether two lists have the same items, in any order. A list that the server does not report is never the same. */
export function haveSameItems(one: readonly string[], other: readonly string[] | null): boolean {
  return other !== null && one.length === new Set(other).size && one.every((item) => other.includes(item));
}

function toUtc(time: string | null): string | null {
  return time === null || Number.isNaN(Date.parse(time)) ? time : new Date(time).toISOString();
}
