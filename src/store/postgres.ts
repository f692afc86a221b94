/**
 * The PostgreSQL store. Any number of processes on any number of machines can use the database at once. Unique
 * constraints guarantee that names and hashes are unique. A lock serializes the transactions that add audit events, so
 * events become visible in the order of their ids. A client that continues after the last event that it has read misses
 * no event.
 */
// @ts-types="@types/pg"
import type { Pool, QueryConfig } from "pg";
import { Failure } from "../apikey/failure.ts";
import type { Name } from "../apikey/name.ts";
import { actorDeleted, type AuditEvent, doneEvent, type NewEvent, notFoundEvent, type Origin } from "./audit_event.ts";
import type { KeyStore, Precondition } from "./key_store.ts";
import { batchLookups } from "./lookup_batch.ts";
import { OLDER_POSTGRES_KEYS, POSTGRES_KEYS, POSTGRES_MIGRATIONS } from "./migrations.ts";
import {
  AUDIT_LOCK_ID,
  createPool,
  type DatabaseAddress,
  databaseFailure,
  inTransaction,
  migrate,
  NAME_LOCK_ID,
  type Queryable,
  requireKnownSchema,
  schemaVersion,
} from "./postgres_database.ts";
import { EVENT_COLUMNS, eventToRow, KEY_COLUMNS, keyToRow, type Row, rowToEvent, rowToKey } from "./row.ts";
import type { KeyState, StoredKey } from "./stored_key.ts";
import { UnmigratedStore } from "./unmigrated_store.ts";

export interface PostgresOptions {
  readonly address: DatabaseAddress;
  /** The time limit for a connection attempt, and for a statement, in milliseconds. */
  readonly timeout: number;
  /** Aborting this signal ends every wait for the database at once. */
  readonly signal?: AbortSignal | undefined;
}

/** How many keys one statement reads, and how many events one statement deletes. */
const PAGE = 1000;

/**
 * Connects to the database and migrates its schema.
 *
 * @throws {Failure} `UNREACHABLE` if the database cannot be reached or used, or was written by a newer version
 * @throws {Failure} `TIMEOUT` if the database does not respond in time
 * @throws {Failure} `INTERRUPTED` if `signal` is aborted
 */
export function openPostgresStore(options: PostgresOptions): Promise<KeyStore> {
  return connect(options, async (pool) => {
    await migrate(pool, options.address.label);
    return new PostgresStore(pool, options);
  });
}

/**
 * Connects to the database, but creates or migrates its schema only before the first change. Until then, a store without
 * a schema is empty.
 *
 * @throws {Failure} the failures that `openPostgresStore` lists
 */
export function openPostgresStoreOnDemand(options: PostgresOptions): Promise<KeyStore> {
  return connect(options, async (pool) => {
    const version = await schemaVersion(pool, options.address.label) ?? 0;
    if (version === POSTGRES_MIGRATIONS.length) return new PostgresStore(pool, options);
    const older = version === 0 ? undefined : new PostgresStore(pool, options, OLDER_POSTGRES_KEYS[version - 1]);
    if (older === undefined) await pool.end();
    return new UnmigratedStore(older, () => openPostgresStore(options));
  });
}

async function connect(
  { address, timeout, signal }: PostgresOptions,
  open: (pool: Pool) => Promise<KeyStore>,
): Promise<KeyStore> {
  const pool = createPool(address, timeout);
  try {
    return await unlessAborted(open(pool), signal);
  } catch (error) {
    // Not awaited, because `end` waits for statements that are still running.
    void pool.end();
    throw databaseFailure(address.label, error);
  }
}

class PostgresStore implements KeyStore {
  readonly #pool: Pool;
  readonly #label: string;
  readonly #signal: AbortSignal | undefined;
  readonly #keys: string;
  readonly findBySecretHash = batchLookups((hashes) => this.#findStates(hashes));

  /** @param keys where to read keys; another value than the default is for reading an older schema */
  constructor(pool: Pool, { address, signal }: PostgresOptions, keys = POSTGRES_KEYS) {
    this.#pool = pool;
    this.#label = address.label;
    this.#signal = signal;
    this.#keys = keys;
  }

  add(key: StoredKey, origin: Origin, precondition: Precondition): Promise<void> {
    return this.#change(async (sql) => {
      await requireActor(sql, origin);
      // Serializes transactions for the same name. If no key has the name yet, there is no row to lock.
      await sql.query("SELECT pg_advisory_xact_lock($1, hashtext($2))", [NAME_LOCK_ID, key.name]);
      const { rows: [row] } = await sql.query("SELECT * FROM service_api.api_key WHERE name = $1 FOR UPDATE", [
        key.name,
      ]);
      const held = row && rowToKey(row, this.#label);
      precondition(held);
      if (held !== undefined) {
        await sql.query("DELETE FROM service_api.api_key WHERE id = $1", [held.id]);
        await sql.query("UPDATE service_api.api_key SET created_by = $1 WHERE created_by = $2", [key.id, held.id]);
      }
      await insertKey(sql, key);
      const replaced = held === undefined ? [] : [doneEvent("REPLACE", held, origin)];
      await insertEvents(sql, [...replaced, doneEvent("CREATE", key, origin)]);
    });
  }

  remove(ids: readonly string[], origin: Origin, precondition: Precondition): Promise<boolean> {
    const distinctIds = [...new Set(ids)];
    return this.#change(async (sql) => {
      await requireActor(sql, origin);
      const { rows } = await sql.query(
        "SELECT * FROM service_api.api_key WHERE id = ANY($1) ORDER BY number FOR UPDATE",
        [distinctIds],
      );
      const held = rows.map((row) => rowToKey(row, this.#label));
      for (const key of held) precondition(key);
      const existing = new Set(held.map(({ id }) => id));
      const missing = distinctIds.find((id) => !existing.has(id));
      if (missing !== undefined) {
        await insertEvents(sql, [notFoundEvent(missing, origin)]);
        return false;
      }
      await sql.query("DELETE FROM service_api.api_key WHERE id = ANY($1)", [distinctIds]);
      await insertEvents(sql, held.map((key) => doneEvent("DELETE", key, origin)));
      return true;
    });
  }

  async #findStates(hashes: readonly string[]): Promise<ReadonlyMap<string, KeyState>> {
    const rows = await this.#rows({
      name: "find states",
      text: `SELECT version, encode(secret_sha256, 'hex') AS hash, id, revision
             FROM service_api.schema_version LEFT JOIN ${this.#keys} ON secret_sha256 = ANY($1::bytea[])`,
      values: [hashes.map((hash) => `\\x${hash}`)],
    });
    requireKnownSchema(rows[0]?.["version"], this.#label);
    return new Map(
      rows.filter(({ id }) => id !== null).map(({ hash, id, revision }) => [
        String(hash),
        { id: String(id), revision: Number(revision) },
      ]),
    );
  }

  findById(id: string): Promise<StoredKey | undefined> {
    return this.#find(`SELECT * FROM ${this.#keys} WHERE id = $1`, id);
  }

  findByName(name: Name): Promise<StoredKey | undefined> {
    return this.#find(`SELECT * FROM ${this.#keys} WHERE name = $1`, name);
  }

  async *list(owner?: string): AsyncIterable<StoredKey> {
    const own = owner === undefined ? "" : "AND (id = $2 OR created_by = $2)";
    const owners = owner === undefined ? [] : [owner];
    const text = `SELECT * FROM ${this.#keys} WHERE number > $1 ${own} ORDER BY number LIMIT ${PAGE}`;
    for (let last = "0";;) {
      // deno-lint-ignore no-await-in-loop -- each page begins after the previous one
      const rows = await this.#rows({ text, values: [last, ...owners] });
      for (const row of rows) yield rowToKey(row, this.#label);
      if (rows.length < PAGE) return;
      last = String(rows.at(-1)?.["number"]);
    }
  }

  async isEmpty(): Promise<boolean> {
    const [row] = await this.#rows({
      text: `SELECT version, EXISTS (SELECT FROM ${this.#keys}) AS has_keys FROM service_api.schema_version`,
    });
    requireKnownSchema(row?.["version"], this.#label);
    return row?.["has_keys"] === false;
  }

  async recordUses(uses: ReadonlyMap<string, Date>): Promise<void> {
    // Locks rows in the same order as `remove` does, which avoids deadlocks.
    await this.#rows({
      text: `
        WITH used AS (
          SELECT id, use.at FROM service_api.api_key
          JOIN unnest($1::text[], $2::timestamptz[]) AS use(id, at) USING (id)
          ORDER BY number FOR NO KEY UPDATE OF api_key
        )
        UPDATE service_api.api_key SET last_used_at = used.at
        FROM used WHERE api_key.id = used.id AND (last_used_at IS NULL OR last_used_at < used.at)`,
      values: [[...uses.keys()], [...uses.values()].map((at) => at.toISOString())],
    });
  }

  recordEvent(event: NewEvent): Promise<void> {
    return this.#change((sql) => insertEvents(sql, [event]));
  }

  async listEvents(after: string | undefined, limit: number): Promise<readonly AuditEvent[]> {
    const rows = await this.#rows({
      text: "SELECT * FROM service_api.audit_event WHERE id > $1 ORDER BY id LIMIT $2",
      values: [after ?? "0", limit],
    });
    return rows.map((row) => rowToEvent(row, this.#label));
  }

  async dropEventsBefore(time: Date): Promise<void> {
    const text = `
      DELETE FROM service_api.audit_event
      WHERE id IN (SELECT id FROM service_api.audit_event WHERE at < $1 ORDER BY at LIMIT ${PAGE})
      RETURNING id`;
    // deno-lint-ignore no-await-in-loop -- lets other requests run between two statements
    while ((await this.#rows({ text, values: [time.toISOString()] })).length === PAGE);
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  async #find(text: string, value: string): Promise<StoredKey | undefined> {
    const [row] = await this.#rows({ text, values: [value] });
    return row && rowToKey(row, this.#label);
  }

  async #rows(query: QueryConfig): Promise<readonly Row[]> {
    return (await this.#await(this.#pool.query<Row>(query))).rows;
  }

  #change<Result>(act: (sql: Queryable) => Promise<Result>): Promise<Result> {
    return this.#await(inTransaction(this.#pool, this.#label, async (sql) => {
      // The join locks the keys. While this transaction runs, no other process can migrate them.
      const { rows: [row] } = await sql.query(
        "SELECT version FROM service_api.schema_version LEFT JOIN service_api.api_key ON FALSE",
      );
      requireKnownSchema(row?.version, this.#label);
      return await act(sql);
    }));
  }

  /** Awaits a result. Turns an error of the database into a `Failure` that explains it to the user. */
  async #await<Result>(result: Promise<Result>): Promise<Result> {
    try {
      return await unlessAborted(result, this.#signal);
    } catch (error) {
      throw databaseFailure(this.#label, error);
    }
  }
}

/** Settles as `result` does, or rejects with `INTERRUPTED` if the signal is aborted first. */
function unlessAborted<Result>(result: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return result;
  const { promise, reject } = Promise.withResolvers<never>();
  const interrupt = (): void =>
    reject(new Failure("INTERRUPTED", "Interrupted. If a change was in progress, it may have taken effect."));
  if (signal.aborted) interrupt();
  signal.addEventListener("abort", interrupt);
  return Promise.race([result, promise]).finally(() => signal.removeEventListener("abort", interrupt));
}

/** Checks that the calling key exists, and locks it so that it cannot be deleted before the change is committed. */
async function requireActor(sql: Queryable, { actor }: Origin): Promise<void> {
  if (actor === null) return;
  const { rows } = await sql.query("SELECT 1 FROM service_api.api_key WHERE id = $1 FOR KEY SHARE", [actor.id]);
  if (rows.length === 0) throw actorDeleted();
}

async function insertKey(sql: Queryable, key: StoredKey): Promise<void> {
  const placeholders = KEY_COLUMNS.map((_column, i) => `$${i + 1}`).join(", ");
  await sql.query(
    `INSERT INTO service_api.api_key (${KEY_COLUMNS.join(", ")}) VALUES (${placeholders})`,
    keyToRow(key),
  );
}

async function insertEvents(sql: Queryable, events: readonly NewEvent[]): Promise<void> {
  const rows = events.map(eventToRow);
  const arrays = EVENT_COLUMNS.map((column, i) => `$${i + 1}::${column === "at" ? "timestamptz" : "text"}[]`);
  await sql.query("SELECT pg_advisory_xact_lock($1)", [AUDIT_LOCK_ID]);
  await sql.query(
    `INSERT INTO service_api.audit_event (${EVENT_COLUMNS.join(", ")}) SELECT * FROM unnest(${arrays.join(", ")})`,
    EVENT_COLUMNS.map((_column, i) => rows.map((row) => row[i] ?? null)),
  );
}
