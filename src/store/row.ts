/** Converts keys and audit events to and from table rows, for both SQLite and PostgreSQL. */
import { Failure, quote } from "../apikey/failure.ts";
import { parseName } from "../apikey/name.ts";
import { parsePermissions } from "../apikey/permission.ts";
import { parseRoles } from "../apikey/role.ts";
import { AUDIT_ACTIONS, type AuditEvent, type NewEvent } from "./audit_event.ts";
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
] as const;

/** A column value that both databases accept. Times have the format of `Date.toISOString`. */
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
  ];
}

/**
 * @param store the name of the store in messages
 * @throws {Failure} `UNREACHABLE` if the row is damaged
 */
export function rowToKey(row: Row, store: string): StoredKey {
  try {
    const { secret_sha256 } = row;
    if (!(secret_sha256 instanceof Uint8Array)) throw new TypeError("secret_sha256 is not bytes");
    return {
      id: String(row["id"]),
      name: parseName(String(row["name"])),
      description: toText(row["description"]),
      roles: parseRoles(String(row["roles"])),
      permissions: parsePermissions(String(row["permissions"])),
      createdAt: toTime(row["created_at"]),
      createdBy: toText(row["created_by"]),
      lastUsedAt: row["last_used_at"] === null ? null : toTime(row["last_used_at"]),
      secretHash: new Uint8Array(secret_sha256),
      secretTail: String(row["secret_tail"]),
      revision: Number(row["revision"]),
    };
  } catch (cause) {
    throw new Failure(
      "UNREACHABLE",
      `The store ${store} is damaged: cannot read the key ${
        quote(String(row["id"]))
      }. Restore the store from a backup.`,
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
] as const;

/** @returns the values in the order of `EVENT_COLUMNS` */
export function eventToRow(event: NewEvent): (string | number | null)[] {
  return [
    event.at.toISOString(),
    event.actor?.id ?? null,
    event.actor?.name ?? null,
    event.address,
    event.requestId,
    event.action,
    event.keyId,
    event.keyName,
    event.outcome,
    event.occurrences ?? 1,
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
      address: toText(row["address"]),
      requestId: toText(row["request_id"]),
      action,
      keyId: toText(row["key_id"]),
      keyName: toText(row["key_name"]),
      outcome: String(row["outcome"]),
      occurrences: Number(row["occurrences"]),
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

function toText(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

function toTime(value: unknown): Date {
  const time = value instanceof Date ? value : new Date(String(value));
  if (Number.isNaN(time.getTime())) throw new TypeError("not a time");
  return time;
}
