/**
 * The locks of transactions that change keys on PostgreSQL. A transaction locks names first, in the order of
 * their hashes, then rows of keys, in the order of `number`, and then the resources of new permissions, so that
 * transactions cannot deadlock. A transaction that changes the resources locks the list, the calling key, and at most
 * one resource.
 */
import type { Name } from "../apikey/name.ts";
import type { Permission } from "../apikey/permission.ts";
import { type Origin, requireValidActor } from "./audit_event.ts";
import { NAME_LOCK_ID, type Queryable } from "./postgres_database.ts";
import { newResources, requireExisting } from "./resources/resource_list.ts";
import { type Row, rowToKey } from "./row.ts";
import type { StoredKey } from "./stored_key.ts";

/**
 * Serializes transactions for the same names until the end of the transaction, because a name that no key has yet has no
 * row to lock. A transaction locks all of its names at once.
 */
export async function lockNames(sql: Queryable, names: readonly Name[]): Promise<void> {
  await sql.query(
    `SELECT pg_advisory_xact_lock($1, lock)
     FROM (SELECT DISTINCT hashtext(name) AS lock FROM unnest($2::text[]) AS name ORDER BY lock) AS locks`,
    [NAME_LOCK_ID, names],
  );
}

/** Returns the id of the key with this name. Lock the name first, because another transaction could change it. */
export async function findId(sql: Queryable, name: Name): Promise<string | undefined> {
  const { rows: [row] } = await sql.query<Row>("SELECT id FROM service_api.api_key WHERE name = $1", [name]);
  return row && String(row["id"]);
}

/**
 * Checks that the calling key exists and is enabled, and prevents changes to it until the end of the transaction. Allows
 * concurrent changes by the same key. The transaction must not lock other rows, because only `lockKeys` locks rows in
 * order.
 *
 * @param label the name of the database in messages
 * @returns the calling key; `null` for the local caller
 * @throws {Failure} `UNAUTHENTICATED` if the calling key was deleted or disabled
 */
export async function keepActor(sql: Queryable, { actor }: Origin, label: string): Promise<StoredKey | null> {
  if (actor === null) return null;
  const { rows: [row] } = await sql.query<Row>("SELECT * FROM service_api.api_key WHERE id = $1 FOR KEY SHARE", [
    actor.id,
  ]);
  return requireValidActor(row && rowToKey(row, label));
}

interface LockedKeys {
  /** The keys that a change updates or removes. */
  readonly keys: readonly StoredKey[];
  /** The calling key; `null` for the local caller. */
  readonly actor: StoredKey | null;
}

/**
 * Locks the rows that a change updates or removes, and the row of the calling key. A transaction locks all of its rows at
 * once.
 *
 * @param label the name of the database in messages
 * @param isReplacement if set, and if the calling key is one of the keys to remove, also locks the keys that it created
 * @returns the keys with these ids that exist, and the calling key
 * @throws {Failure} `UNAUTHENTICATED` if the calling key was deleted or disabled
 */
export async function lockKeys(
  sql: Queryable,
  ids: readonly string[],
  { actor }: Origin,
  label: string,
  isReplacement = false,
): Promise<LockedKeys> {
  const creator = isReplacement && actor !== null && ids.includes(actor.id) ? actor.id : null;
  const { rows } = await sql.query<Row>(
    `WITH locked AS (
       SELECT * FROM service_api.api_key WHERE id = ANY($1) OR created_by = $2 ORDER BY number FOR UPDATE
     )
     SELECT * FROM locked WHERE id = ANY($1)`,
    [actor === null ? ids : [...ids, actor.id], creator],
  );
  const locked = rows.map((row) => rowToKey(row, label));
  const wanted = new Set(ids);
  return {
    keys: locked.filter(({ id }) => wanted.has(id)),
    actor: actor === null ? null : requireValidActor(locked.find(({ id }) => id === actor.id)),
  };
}

/**
 * Checks that the resources of new permissions exist, and prevents their removal until the end of the transaction.
 *
 * @param held the permissions before the change
 * @throws {Failure} `INVALID_PERMISSION` if a resource does not exist
 */
export async function keepResources(
  sql: Queryable,
  granted: readonly Permission[],
  held?: readonly Permission[],
): Promise<void> {
  const names = newResources(granted, held);
  if (names.length === 0) return;
  const { rows } = await sql.query<Row>("SELECT name FROM service_api.resource WHERE name = ANY($1) FOR KEY SHARE", [
    names,
  ]);
  requireExisting(names, rows.map((row) => String(row["name"])));
}

/** Serializes the transactions that add or remove resources, and increases the revision of the list. */
export async function lockResourceList(sql: Queryable): Promise<void> {
  await sql.query("UPDATE service_api.schema_version SET resources_revision = resources_revision + 1");
}
