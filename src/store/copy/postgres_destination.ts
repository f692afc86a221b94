/** Fills an empty PostgreSQL store. Loaded only if the destination is a database. */
import {
  createPool,
  type DatabaseAddress,
  databaseFailure,
  inTransaction,
  migrate,
  type Queryable,
  schemaVersion,
} from "../postgres_database.ts";
import { lockResourceList } from "../postgres_locks.ts";
import { POSTGRES_MIGRATIONS } from "../postgres_migrations.ts";
import { olderDestination } from "./older_destination.ts";
import type { Destination, Fill, Table, Value, Values } from "./tables.ts";

const REMEDY = "Create an empty database, and set --database-url to it.";

/**
 * Connects to the database, creates the schema if it is missing, and fills the store in one transaction.
 *
 * @param timeout the time limit for a connection attempt, and for a statement, in milliseconds
 * @throws {Failure} `FAILED` if the store has an older schema
 * @throws {Failure} `UNREACHABLE` or `TIMEOUT` if the database cannot be used
 * @throws what `fill` throws
 */
export async function fillPostgres(address: DatabaseAddress, timeout: number, fill: Fill): Promise<void> {
  const { label } = address;
  const pool = createPool(address, timeout);
  try {
    const version = await schemaVersion(pool, label) ?? POSTGRES_MIGRATIONS.length;
    if (version < POSTGRES_MIGRATIONS.length) throw olderDestination(label, REMEDY);
    await migrate(pool, label);
    await inTransaction(pool, label, async (sql) => {
      await lockAll(sql);
      await fill(destinationIn(sql, label));
    });
  } catch (error) {
    throw databaseFailure(label, error);
  } finally {
    await pool.end();
  }
}

/** Keeps other processes from changing the store. Locks in the same order as they do, which avoids deadlocks. */
async function lockAll(sql: Queryable): Promise<void> {
  await lockResourceList(sql);
  await sql.query(
    "LOCK TABLE service_api.api_key, service_api.resource, service_api.audit_event IN EXCLUSIVE MODE",
  );
}

function destinationIn(sql: Queryable, label: string): Destination {
  return {
    label,
    remedy: REMEDY,
    count: async ({ name }) => {
      const { rows: [row] } = await sql.query(`SELECT count(*) AS number FROM service_api.${name}`);
      return Number(row?.number);
    },
    insert: (table, rows) => insert(sql, table, rows),
    finish: async (lastEventId) => {
      await sql.query(
        `SELECT setval(pg_get_serial_sequence('service_api.api_key', 'number'), max(number)) FROM service_api.api_key`,
      );
      if (lastEventId === 0) return;
      await sql.query("SELECT setval(pg_get_serial_sequence('service_api.audit_event', 'id'), $1)", [lastEventId]);
    },
  };
}

/** One parameter holds all rows, and PostgreSQL converts their values to the types of the columns. */
async function insert(sql: Queryable, { name, columns }: Table, rows: readonly Values[]): Promise<void> {
  const objects = rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, toJson(row[i] ?? null)])));
  const list = columns.join(", ");
  await sql.query(
    `INSERT INTO service_api.${name} (${list}) OVERRIDING SYSTEM VALUE
     SELECT ${list} FROM json_populate_recordset(NULL::service_api.${name}, $1)`,
    [JSON.stringify(objects)],
  );
}

function toJson(value: Value): string | number | null {
  if (value instanceof Uint8Array) return `\\x${value.toHex()}`;
  return typeof value === "bigint" ? String(value) : value;
}
