/**
 * Decides what to do with each key of `ensure` and `apply`. Pure: compares the key that is wanted with the key that the
 * server has.
 */
import { Failure, quote } from "../../../../apikey/failure.ts";
import type { Name } from "../../../../apikey/name.ts";
import type { NamedPermission } from "../../../../apikey/permission.ts";
import type { ApiKey, KeyChanges } from "../../../../client/client.ts";
import { haveSameItems } from "../update/key_change.ts";

/** A key as flags or a manifest describe it. Durations are in milliseconds. */
export interface WantedKey {
  readonly name: Name;
  /** `undefined` leaves the description of an existing key unchanged. */
  readonly description: string | undefined;
  readonly roles: readonly string[];
  readonly permissions: readonly NamedPermission[];
  /** How long each secret is valid. */
  readonly expiresIn: number | undefined;
  /** When the key expires. If neither this nor `expiresIn` is set, the expiry of an existing key does not change. */
  readonly expiresAt: Date | undefined;
  /** How long before its expiry the key gets a new secret. Needs `expiresIn`, and is shorter. */
  readonly rotateBefore: number | undefined;
  /** How long the old secret stays valid after the key got a new one. */
  readonly grace: number | undefined;
  /** `undefined` leaves `managedBy` of an existing key unchanged. */
  readonly managedBy: string | undefined;
  /** The path of the file for the secret. */
  readonly secretFile: string;
}

/**
 * Throws unless each secret lives longer than `rotateBefore`.
 *
 * @param names the names of flags or members, for messages
 * @throws {Failure} `USAGE`
 */
export function requireRotatable(
  { expiresIn, rotateBefore }: Pick<WantedKey, "expiresIn" | "rotateBefore">,
  names: { readonly expiresIn: string; readonly rotateBefore: string },
): void {
  if (expiresIn === 0) throw new Failure("USAGE", `${names.expiresIn} must be longer than 0.`);
  if (rotateBefore === undefined || rotateBefore < (expiresIn ?? 0)) return;
  throw new Failure(
    "USAGE",
    expiresIn === undefined
      ? `${names.rotateBefore} needs ${names.expiresIn}, which says how long each secret is valid.`
      : `${names.rotateBefore} must be shorter than ${names.expiresIn}.`,
  );
}

/** What the server and the file have of a wanted key. */
export interface KeyState {
  /** The key on the server; `undefined` if no key has the name. */
  readonly key: ApiKey | undefined;
  /** What the file holds: no secret, the current secret of the key, or something else. */
  readonly file: "missing" | "current" | "other";
}

export type Action = "create" | "update" | "rotate" | "unchanged";

/** What to do with one key. */
export interface PlannedKey {
  readonly wanted: WantedKey;
  /** The existing key; `undefined` only for `create`. */
  readonly key: ApiKey | undefined;
  /** `rotate` also makes the changes. */
  readonly action: Action;
  /** Why the key gets a new secret, for `rotate`. */
  readonly reason?: string | undefined;
  readonly changes: KeyChanges;
  /** The expiry of the new secret, for `create` and `rotate`; `undefined` leaves it to the server. */
  readonly expiresAt?: Date | undefined;
}

/**
 * How much later than wanted a key may expire without being changed, in milliseconds. The machines that keep a key in
 * order may have clocks that differ.
 */
const EXPIRY_TOLERANCE = 5 * 60_000;

/**
 * Decides what to do with one key.
 *
 * @throws {Failure} `FAILED` if the key belongs to another manifest; `EXPIRED` if it has expired and no new expiry is given
 */
export function planKey(wanted: WantedKey, { key, file }: KeyState, now: Date): PlannedKey {
  const { expiresIn } = wanted;
  const expiresAt = expiresIn === undefined ? wanted.expiresAt : new Date(now.getTime() + expiresIn);
  if (key === undefined) return { wanted, key, action: "create", changes: {}, expiresAt };
  const changes = findChanges(wanted, key);
  const reason = reasonToRotate(wanted, key, file, now);
  if (reason !== undefined) return { wanted, key, action: "rotate", reason, changes, expiresAt };
  const allChanges = { ...changes, ...findExpiry(wanted, key, expiresAt) };
  const action = Object.keys(allChanges).length === 0 ? "unchanged" : "update";
  return { wanted, key, action, changes: allChanges };
}

/** Returns why a key needs a new secret, or `undefined` if it needs none. */
function reasonToRotate(
  wanted: WantedKey,
  { name, expiresAt }: ApiKey,
  file: KeyState["file"],
  now: Date,
): string | undefined {
  const { rotateBefore = 0, secretFile } = wanted;
  const left = expiresAt === null ? Infinity : Date.parse(expiresAt) - now.getTime();
  if (left <= 0 && (wanted.expiresIn ?? wanted.expiresAt) === undefined) {
    throw new Failure(
      "EXPIRED",
      `The key ${quote(name)} expired at ${expiresAt}. To issue a new secret, add --expires-in, or expiresIn in a ` +
        "manifest.",
    );
  }
  if (file === "missing") return `${quote(secretFile)} does not hold a secret`;
  if (file === "other") return `${quote(secretFile)} does not hold its current secret`;
  if (left <= 0) return `it expired at ${expiresAt}`;
  return left <= rotateBefore ? `it expires at ${expiresAt}` : undefined;
}

function findChanges(wanted: WantedKey, key: ApiKey): KeyChanges {
  const { description, roles, permissions, managedBy } = wanted;
  if (managedBy !== undefined && key.managedBy !== null && key.managedBy !== managedBy) {
    throw new Failure(
      "FAILED",
      `The key ${quote(key.name)} belongs to the manifest ${
        quote(key.managedBy)
      }. Choose another name, or remove the ` +
        "key from that manifest and delete it.",
    );
  }
  return {
    ...description !== undefined && description !== (key.description ?? "") && { description },
    ...!haveSameItems(roles, key.roles ?? []) && { roles },
    ...!haveSameItems(permissions, key.permissions ?? []) && { permissions },
    ...key.enabled === false && { enabled: true },
    ...managedBy !== undefined && managedBy !== key.managedBy && { managedBy },
  };
}

/** Returns the new expiry of a key that has none, or another one than wanted. With `expiresIn`, an earlier one is right. */
function findExpiry({ expiresIn }: WantedKey, key: ApiKey, expiresAt: Date | undefined): KeyChanges {
  if (expiresAt === undefined) return {};
  const later = key.expiresAt === null ? Infinity : Date.parse(key.expiresAt) - expiresAt.getTime();
  const isWrong = expiresIn === undefined ? later !== 0 : later > EXPIRY_TOLERANCE;
  return isWrong ? { expiresAt: expiresAt.toISOString() } : {};
}
