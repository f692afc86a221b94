/**
 * Audit events. An event states who created, changed, replaced or deleted a key, added or removed a resource, or tried
 * to, when, from where, and with what outcome. A recorded event never changes.
 */
import { Failure } from "../apikey/failure.ts";
import type { CustomResource } from "../apikey/permission.ts";
import { maskSecret, redactSecrets } from "../apikey/secret.ts";
import type { StoredKey } from "./stored_key.ts";

/**
 * The kind of change; `VERIFY` or `INTROSPECT` for a key that was refused at `/verify` or `/introspect`. A successful
 * replacement has two events: `REPLACE` for the old key and `CREATE` for the new key.
 */
export const AUDIT_ACTIONS = [
  "CREATE",
  "UPDATE",
  "ROTATE",
  "REPLACE",
  "DELETE",
  "ADD_RESOURCE",
  "REMOVE_RESOURCE",
  "VERIFY",
  "INTROSPECT",
] as const;

export type AuditAction = typeof AUDIT_ACTIONS[number];

/**
 * Who requests a change, when and from where. The local caller is the user of a command that opens the store itself and
 * sends no key.
 */
export interface Origin {
  readonly at: Date;
  /** The calling key; `null` for the local caller. */
  readonly actor: { readonly id: string; readonly name: string } | null;
  /** The name of the local caller's user, as the environment of the command states it. Not set if unknown. */
  readonly localUser?: string | undefined;
  /** The IP address of the client; `null` for a request in embedded mode, inside the process of a command. */
  readonly address: string | null;
  /** The id of the request, as in the access log; `null` in embedded mode. */
  readonly requestId: string | null;
}

/** A member of a key or of a resource that an event changed. */
export interface AuditChange {
  /** The name of the field in the GraphQL type `ApiKey` or `CustomResource`. */
  readonly field: string;
  /** The value before the change; `null` if there was none. Lists are comma-separated; secrets are masked. */
  readonly before: string | null;
  /** The value after the change, in the same form. */
  readonly after: string | null;
}

export interface AuditEvent extends Origin {
  /** A decimal number that increases with every event, possibly with gaps. */
  readonly id: string;
  readonly action: AuditAction;
  /** The id of the key that the change affected or would have affected; `null` if unknown, and for resources. */
  readonly keyId: string | null;
  /** The name of that key; `null` if unknown, and for resources. */
  readonly keyName: string | null;
  /** `DONE`; `NOT_FOUND` if the key to delete does not exist; otherwise the `FailureCode` of the rejection. */
  readonly outcome: string;
  /**
   * How many rejections this event stands for. They have the same calling key, action and outcome. All other members
   * describe the last one. Always 1 if a change took effect.
   */
  readonly occurrences: number;
  /**
   * What changed. If the change was rejected, empty or, for a resource, only its name. Also empty if an older version
   * recorded the event.
   */
  readonly changes: readonly AuditChange[];
}

/** Which events to read. By default, all. */
export interface EventSelection {
  /** Leaves out events from before this time. */
  readonly since?: Date | undefined;
  /**
   * Leaves out events of other keys. The id of a key, or a name in NFC: then the key is any key that has or had the name,
   * so also events from before or after a key was renamed are selected. An event for a request that named a key that did
   * not exist is selected by that name.
   */
  readonly key?: string | undefined;
}

/**
 * An event that is not recorded yet and therefore has no id. If not set, `occurrences` is 1 and `changes` is empty.
 */
export type NewEvent =
  & Omit<AuditEvent, "id" | "occurrences" | "changes">
  & Partial<Pick<AuditEvent, "occurrences" | "changes">>;

/** Returns the event for a key that was created. */
export function creation(key: StoredKey, origin: Origin): NewEvent {
  return doneEvent("CREATE", key, undefined, key, origin);
}

/** Returns the event for a key that was removed. */
export function removal(action: "REPLACE" | "DELETE", key: StoredKey, origin: Origin): NewEvent {
  return doneEvent(action, key, key, undefined, origin);
}

/** Returns the event for a key that was changed. The event has the name from before the change. */
export function alteration(
  action: "UPDATE" | "ROTATE",
  before: StoredKey,
  after: StoredKey,
  origin: Origin,
): NewEvent {
  return doneEvent(action, before, before, after, origin);
}

/** Returns the event for a resource that was added or removed. */
export function resourceEvent(
  action: "ADD_RESOURCE" | "REMOVE_RESOURCE",
  { name, description }: CustomResource,
  origin: Origin,
): NewEvent {
  const isAdded = action === "ADD_RESOURCE";
  const changes = Object.entries({ name, description: withoutSecrets(description) })
    .filter(([_field, value]) => value !== null)
    .map(([field, value]) => ({ field, before: isAdded ? null : value, after: isAdded ? value : null }));
  return { ...origin, action, keyId: null, keyName: null, outcome: "DONE", changes };
}

function doneEvent(
  action: AuditAction,
  { id, name }: StoredKey,
  before: StoredKey | undefined,
  after: StoredKey | undefined,
  origin: Origin,
): NewEvent {
  return { ...origin, action, keyId: id, keyName: name, outcome: "DONE", changes: changesBetween(before, after) };
}

/** The members of a key that events record, by the names of their fields. */
const FIELDS: readonly (readonly [string, (key: StoredKey) => string | null])[] = [
  ["name", ({ name }) => name],
  ["description", ({ description }) => description],
  ["roles", ({ roles }) => roles.join(",") || null],
  ["permissions", ({ permissions }) => permissions.join(",") || null],
  ["key", ({ secretTail }) => maskSecret(secretTail)],
  ["enabled", ({ enabled }) => String(enabled)],
  ["expiresAt", ({ expiresAt }) => expiresAt?.toISOString() ?? null],
  ["graceUntil", ({ graceUntil }) => graceUntil?.toISOString() ?? null],
  ["managedBy", ({ managedBy }) => managedBy],
];

function changesBetween(before: StoredKey | undefined, after: StoredKey | undefined): readonly AuditChange[] {
  return FIELDS.map(([field, valueOf]) => ({
    field,
    before: before === undefined ? null : valueOf(before),
    after: after === undefined ? null : valueOf(after),
  }))
    .filter((change) => change.before !== change.after)
    .map(({ field, before, after }) => ({ field, before: withoutSecrets(before), after: withoutSecrets(after) }));
}

/** A user can put a secret into the description or into `managedBy` by mistake. */
function withoutSecrets(value: string | null): string | null {
  return value === null ? null : redactSecrets(value);
}

/** Returns whether the calling key is the key that its request replaces. */
export function replacesItself({ id }: StoredKey, { actor }: Origin): boolean {
  return actor !== null && actor.id === id;
}

/**
 * Returns the calling key if it still exists and is enabled.
 *
 * @throws {Failure} `UNAUTHENTICATED` if the key was deleted or disabled after it was authenticated
 */
export function requireValidActor(key: StoredKey | undefined): StoredKey {
  if (key?.enabled) return key;
  const event = key === undefined ? "deleted" : "disabled";
  throw new Failure("UNAUTHENTICATED", `The key of this request was ${event} while the request was running.`);
}
