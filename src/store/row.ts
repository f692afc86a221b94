/** Converts keys and audit events to and from table rows, for both SQLite and PostgreSQL. */
import { Failure, quote } from "../apikey/failure.ts";
import { parseName } from "../apikey/name.ts";
import { type CustomResource, isAction, type Permission } from "../apikey/permission.ts";
import { EVERY_RIGHT } from "../apikey/rights.ts";
import { isRole } from "../apikey/role.ts";
import { AUDIT_ACTIONS, type AuditChange, type AuditEvent, type NewEvent } from "./audit_event.ts";
import type { ResourceList } from "./resources/resource_list.ts";
import type { KeyCounts } from "./key_store.ts";
import type { StoredKey } from "./stored_key.ts";

export type Row = Readonly<Record<string, unknown>>;

export const KEY_COLUMNS = [
  "id",
  "name",
  "description",
  "roles",
  "permissions",
  "created_at",
  "created_by",
  "last_used_at",
  "secret_sha256",
  "secret_tail",
  "revision",
  "enabled",
  "expires_at",
  "updated_at",
  "managed_by",
  "previous_sha256",
  "grace_until",
] as const;

/**
 * A column value that both databases accept. Times have the format of `Date.toISOString`. A boolean is 0 or 1, which
 * PostgreSQL accepts as a parameter too.
 */
type Value = string | number | Uint8Array | null;

/** @returns the values in the order of `KEY_COLUMNS` */
export function keyToRow(key: StoredKey): Value[] {
  return [
    key.id,
    key.name,
    key.description,
    key.roles.join(","),
    key.permissions.join(","),
    key.createdAt.toISOString(),
    key.createdBy,
    key.lastUsedAt?.toISOString() ?? null,
    key.secretHash,
    key.secretTail,
    key.revision,
    key.enabled ? 1 : 0,
    key.expiresAt?.toISOString() ?? null,
    key.updatedAt?.toISOString() ?? null,
    key.managedBy,
    key.previousSecretHash,
    key.graceUntil?.toISOString() ?? null,
  ];
}

/**
 * @param store the name of the store in messages
 * @throws {Failure} `UNREACHABLE` if the row is damaged
 */
export function rowToKey(row: Row, store: string): StoredKey {
  return valuesToKey(KEY_COLUMNS.map((column) => row[column]), store);
}

/**
 * The same as `rowToKey` for a row that is an array.
 *
 * @param values the values in the order of `KEY_COLUMNS`
 */
export function valuesToKey(values: readonly unknown[], store: string): StoredKey {
  const [
    id,
    name,
    description,
    roles,
    permissions,
    createdAt,
    createdBy,
    lastUsedAt,
    secretHash,
    secretTail,
    revision,
    enabled,
    expiresAt,
    updatedAt,
    managedBy,
    previousSecretHash,
    graceUntil,
  ] = values;
  try {
    return {
      id: String(id),
      name: parseName(String(name)),
      description: toText(description),
      roles: toList(roles, isRole),
      permissions: toList(permissions, isPermission),
      createdAt: toTime(createdAt),
      createdBy: toText(createdBy),
      lastUsedAt: toOptionalTime(lastUsedAt),
      secretHash: toBytes(secretHash),
      secretTail: String(secretTail),
      revision: Number(revision),
      enabled: Boolean(enabled),
      expiresAt: toOptionalTime(expiresAt),
      updatedAt: toOptionalTime(updatedAt),
      managedBy: toText(managedBy),
      previousSecretHash: previousSecretHash === null ? null : toBytes(previousSecretHash),
      graceUntil: toOptionalTime(graceUntil),
    };
  } catch (cause) {
    throw new Failure(
      "UNREACHABLE",
      `The store ${store} is damaged: cannot read the key ${quote(String(id))}. Restore the store from a backup.`,
      { cause },
    );
  }
}

export const EVENT_COLUMNS = [
  "at",
  "actor_id",
  "actor_name",
  "address",
  "request_id",
  "action",
  "key_id",
  "key_name",
  "outcome",
  "occurrences",
  "changes",
] as const;

/**
 * Returns the SQL condition for the events of a key; see `EventSelection`. An update has the name from before it, so each
 * name that a key ever had is in the key or in the event with which the key lost that name.
 *
 * @param key the placeholder of the id or name
 * @param tables for the FROM clause
 */
export function isEventOfKey(key: string, tables: { readonly keys: string; readonly events: string }): string {
  return `(key_name = ${key} OR key_id = ${key}
    OR key_id IN (SELECT key_id FROM ${tables.events} WHERE key_name = ${key})
    OR key_id IN (SELECT id FROM ${tables.keys} WHERE name = ${key}))`;
}

/** @returns the values in the order of `EVENT_COLUMNS` */
export function eventToRow(event: NewEvent): (string | number | null)[] {
  return [
    event.at.toISOString(),
    event.actor?.id ?? null,
    event.actor?.name ?? event.localUser ?? null,
    event.address,
    event.requestId,
    event.action,
    event.keyId,
    event.keyName,
    event.outcome,
    event.occurrences ?? 1,
    JSON.stringify(event.changes ?? []),
  ];
}

/**
 * @param store the name of the store in messages
 * @throws {Failure} `UNREACHABLE` if the row is damaged
 */
export function rowToEvent(row: Row, store: string): AuditEvent {
  try {
    const action = AUDIT_ACTIONS.find((known) => known === row["action"]);
    if (action === undefined) throw new TypeError("unknown action");
    const actorId = toText(row["actor_id"]);
    return {
      id: String(row["id"]),
      at: toTime(row["at"]),
      actor: actorId === null ? null : { id: actorId, name: String(row["actor_name"]) },
      localUser: actorId === null ? toText(row["actor_name"]) ?? undefined : undefined,
      address: toText(row["address"]),
      requestId: toText(row["request_id"]),
      action,
      keyId: toText(row["key_id"]),
      keyName: toText(row["key_name"]),
      outcome: String(row["outcome"]),
      occurrences: Number(row["occurrences"]),
      changes: parseChanges(String(row["changes"])),
    };
  } catch (cause) {
    throw new Failure(
      "UNREACHABLE",
      `The store ${store} is damaged: cannot read the audit event ${row["id"]}. Restore the store from a backup.`,
      { cause },
    );
  }
}

/** @returns `undefined` if both columns are null, because there are no events */
export function rowToTimes(row: Row): { readonly oldest: Date; readonly newest: Date } | undefined {
  if (row["oldest"] === null) return undefined;
  return { oldest: toTime(row["oldest"]), newest: toTime(row["newest"]) };
}

/** @returns the list; the row of a store without resources has the name `null` */
export function rowsToResources(rows: readonly Row[]): ResourceList {
  const resources = rows.filter(({ name }) => name !== null)
    .map(({ name, description }): CustomResource => ({ name: String(name), description: toText(description) }));
  return { revision: Number(rows[0]?.["revision"] ?? 0), resources };
}

/** Reads the columns `active`, `disabled`, `expired` and `next_expiry`. */
export function rowToCounts(row: Row): KeyCounts {
  return {
    active: Number(row["active"]),
    disabled: Number(row["disabled"]),
    expired: Number(row["expired"]),
    nextExpiry: toOptionalTime(row["next_expiry"]),
  };
}

export function toText(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** Copies the `Buffer` objects of PostgreSQL, because they may share the memory of a whole response. */
function toBytes(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new TypeError("not bytes");
  return value.constructor === Uint8Array ? value : new Uint8Array(value);
}

const PERMISSIONS: ReadonlySet<string> = EVERY_RIGHT;

/** Accepts unknown resources, because another program may have changed the store. */
function isPermission(text: string): text is Permission {
  if (PERMISSIONS.has(text)) return true;
  const [resource, action, ...rest] = text.split(":");
  return resource !== "" && action !== undefined && isAction(action) && rest.length === 0;
}

/** The inverse of `join(",")`. Much faster than parsing what a user typed. */
function toList<Item extends string>(value: unknown, isItem: (text: string) => text is Item): readonly Item[] {
  if (value === "") return [];
  const items = String(value).split(",");
  if (items.every(isItem)) return items;
  throw new TypeError("unknown item");
}

function parseChanges(json: string): readonly AuditChange[] {
  const changes: unknown = JSON.parse(json);
  if (Array.isArray(changes) && changes.every(isChange)) return changes;
  throw new TypeError("not a list of changes");
}

function isChange(value: unknown): value is AuditChange {
  if (typeof value !== "object" || value === null) return false;
  const { field, before, after }: Partial<Record<string, unknown>> = { ...value };
  return typeof field === "string" && [before, after].every((text) => text === null || typeof text === "string");
}

export function toOptionalTime(value: unknown): Date | null {
  return value === null ? null : toTime(value);
}

export function toTime(value: unknown): Date {
  const time = value instanceof Date ? value : new Date(String(value));
  if (Number.isNaN(time.getTime())) throw new TypeError("not a time");
  return time;
}
