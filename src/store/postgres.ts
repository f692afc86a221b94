/**
 * The PostgreSQL store. Any number of processes on any number of machines can use the database at once. Unique
 * constraints guarantee that names and hashes are unique. A lock serializes the transactions that add audit events, so
 * events become visible in the order of their ids. A client that continues after the last event that it has read misses
 * no event.
 */
// @ts-types="@types/pg"
import type { Pool, QueryConfig } from "pg";
import { setTimeout } from "node:timers/promises";
import { Failure, reasonOf } from "../apikey/failure.ts";
import { type Name, nameTaken } from "../apikey/name.ts";
import type { CustomResource } from "../apikey/permission.ts";
import {
  alteration,
  type AuditEvent,
  creation,
  type EventSelection,
  type NewEvent,
  type Origin,
  removal,
  replacesItself,
  resourceEvent,
} from "./audit_event.ts";
import { type KeySort, listByPage, type OrderedKey, type PageOptions, positionOf } from "./key_order.ts";
import type {
  Change,
  KeyCounts,
  KeySelector,
  KeyStore,
  PoolUse,
  Precondition,
  RemovePrecondition,
  ResourcePrecondition,
  UpdateOptions,
} from "./key_store.ts";
import { batchLookups } from "./lookups/lookup_batch.ts";
import { type FoundKey, LookUpCache, toState } from "./lookups/lookup_cache.ts";
import {
  OLDER_POSTGRES_TABLES,
  POSTGRES_MIGRATIONS,
  POSTGRES_TABLES,
  type PostgresTables,
} from "./postgres_migrations.ts";
import {
  AUDIT_LOCK_ID,
  createPool,
  type DatabaseAddress,
  databaseFailure,
  inTransaction,
  isRolledBack,
  migrate,
  type Queryable,
  requireKnownSchema,
  schemaVersion,
} from "./postgres_database.ts";
import { findId, keepActor, keepResources, lockKeys, lockNames, lockResourceList } from "./postgres_locks.ts";
import {
  KEYS_TO_NAME,
  requireAddable,
  requireUnused,
  type ResourceList,
  resourceNotFound,
} from "./resources/resource_list.ts";
import {
  EVENT_COLUMNS,
  eventToRow,
  isEventOfKey,
  KEY_COLUMNS,
  keyToRow,
  type Row,
  rowsToResources,
  rowToCounts,
  rowToEvent,
  rowToKey,
  rowToTimes,
  toOptionalTime,
  toText,
  toTime,
} from "./row.ts";
import type { KeyState, KeyStatus } from "./lookups/key_state.ts";
import type { StoredKey } from "./stored_key.ts";
import { UnmigratedStore } from "./unmigrated_store.ts";

export interface PostgresOptions {
  readonly address: DatabaseAddress;
  /** The time limit for a connection attempt, and for a statement, in milliseconds. */
  readonly timeout: number;
  /** Aborting this signal ends every wait for the database at once. */
  readonly signal?: AbortSignal | undefined;
  /** Called before the store repeats a transaction or a statement that the database rolled back. */
  readonly onRetry?: ((reason: string) => void) | undefined;
}

/** How often a transaction runs at most, if the database rolls it back each time. */
const MAX_ATTEMPTS = 10;

/** The longest random delay before another attempt, in milliseconds. */
const MAX_DELAY = 20;

/** How many keys one statement reads, and how many events one statement deletes. */
const PAGE = 1000;

/** The SQL expression whose value sorts keys, and its type. */
const SORT_VALUES: Readonly<Record<Exclude<KeySort, "CREATED">, readonly [string, string]>> = {
  NAME: ['name COLLATE "C"', "text"],
  USED: ["coalesce(last_used_at, '-infinity')", "timestamptz"],
  EXPIRES: ["coalesce(expires_at, 'infinity')", "timestamptz"],
};

/** The status of a key. */
const STATUS = "CASE WHEN NOT enabled THEN 'disabled' WHEN expires_at <= now() THEN 'expired' ELSE 'active' END";

/** When a statement ran. */
interface Moment {
  /** Two statements with the same version see the same data. `null` if the version is unknown. */
  readonly version: string | null;
  /** The time of the database, in the format of `Date.toISOString`. */
  readonly now: string;
}

/**
 * The columns of a `Moment`. The snapshot lists the transactions whose changes a statement does not see. It is a new one
 * after each transaction that changed something, in any database of the server. The server's start is part of the version
 * because the server may use the numbers of transactions again that it lost in a crash. A standby does not know all
 * transactions.
 */
const MOMENT = `
  CASE WHEN NOT pg_is_in_recovery() THEN concat_ws(' ', pg_postmaster_start_time(), pg_current_snapshot()) END
  AS moment_version, now() AS now`;

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
    const older = version === 0 ? undefined : new PostgresStore(pool, options, OLDER_POSTGRES_TABLES[version - 1]);
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
  readonly #options: PostgresOptions;
  readonly #label: string;
  readonly #tables: PostgresTables;
  /** The results of look-ups by secret, by the version of a `Moment`. */
  readonly #lookUps = new LookUpCache();
  #lastVersion: string | null = null;
  /**
   * Whether the last two look-ups saw the same version. While other programs keep changing the database, asking for the
   * version first would only be another round trip.
   */
  #isQuiet = false;
  readonly #findState = batchLookups((hashes) => this.#findStates(hashes));
  readonly #findRow = batchLookups((ids) => this.#findRows(ids));

  /** @param tables where to read; another value than the default is for reading an older schema */
  constructor(pool: Pool, options: PostgresOptions, tables = POSTGRES_TABLES) {
    this.#pool = pool;
    this.#options = options;
    this.#label = options.address.label;
    this.#tables = tables;
  }

  add(key: StoredKey, origin: Origin, precondition: Precondition): Promise<void> {
    return this.#change(async (sql) => {
      await lockNames(sql, [key.name]);
      const id = await findId(sql, key.name);
      const { keys, actor } = id === undefined
        ? { keys: [], actor: await keepActor(sql, origin, this.#label) }
        : await lockKeys(sql, [id], origin, this.#label, true);
      const held = keys.find(({ name }) => name === key.name);
      precondition(held, actor);
      await keepResources(sql, key.permissions);
      if (held !== undefined) await sql.query("DELETE FROM service_api.api_key WHERE id = $1", [held.id]);
      if (held !== undefined && replacesItself(held, origin)) {
        await sql.query(
          "UPDATE service_api.api_key SET created_by = $1, revision = revision + 1 WHERE created_by = $2",
          [key.id, held.id],
        );
      }
      await insertKey(sql, key);
      const replaced = held === undefined ? [] : [removal("REPLACE", held, origin)];
      await insertEvents(sql, [...replaced, creation(key, origin)]);
    });
  }

  update(
    selector: KeySelector,
    origin: Origin,
    { action, newName }: UpdateOptions,
    change: Change,
  ): Promise<StoredKey | undefined> {
    const name = "name" in selector ? selector.name : undefined;
    const names = [name, newName].filter((one) => one !== undefined);
    return this.#change(async (sql) => {
      if (names.length > 0) await lockNames(sql, names);
      const id = "id" in selector ? selector.id : await findId(sql, selector.name);
      const { keys: [held], actor } = await lockKeys(sql, id === undefined ? [] : [id], origin, this.#label);
      if (held === undefined || (name !== undefined && held.name !== name)) return undefined;
      const changed = change(held, actor);
      if (changed === held) return held;
      await keepResources(sql, changed.permissions, held.permissions);
      const key = { ...changed, revision: held.revision + 1, updatedAt: origin.at };
      if (key.name !== held.name && await findId(sql, key.name) !== undefined) throw nameTaken(key.name);
      const columns = KEY_COLUMNS.map((column, i) => `${column} = $${i + 2}`).join(", ");
      await sql.query(`UPDATE service_api.api_key SET ${columns} WHERE id = $1`, [held.id, ...keyToRow(key)]);
      await insertEvents(sql, [alteration(action, held, key, origin)]);
      return key;
    });
  }

  remove(ids: readonly string[], origin: Origin, precondition: RemovePrecondition): Promise<boolean> {
    const distinctIds = [...new Set(ids)];
    return this.#change(async (sql) => {
      const { keys, actor } = await lockKeys(sql, distinctIds, origin, this.#label);
      const held = new Map(keys.map((key) => [key.id, key]));
      for (const id of distinctIds) precondition(held.get(id), actor, id);
      if (held.size < distinctIds.length) return false;
      await sql.query("DELETE FROM service_api.api_key WHERE id = ANY($1)", [distinctIds]);
      await insertEvents(sql, [...held.values()].map((key) => removal("DELETE", key, origin)));
      return true;
    });
  }

  findBySecretHash(hash: Uint8Array): Promise<KeyState | undefined> {
    return this.#findState(hash.toHex());
  }

  /**
   * Looks up keys by the hashes of their secrets, in hexadecimal. If the results of earlier look-ups still hold, uses
   * them.
   */
  async #findStates(hashes: readonly string[]): Promise<ReadonlyMap<string, KeyState>> {
    const found = new Map<string, FoundKey | null>();
    for (const hash of this.#isQuiet ? hashes : []) {
      const known = this.#lookUps.get(hash);
      if (known !== undefined) found.set(hash, known);
    }
    const cached = [...found.keys()];
    const cachedVersion = this.#lookUps.version;
    const others = hashes.filter((hash) => !found.has(hash));
    let moment = others.length > 0 ? await this.#lookUp(others, found) : await this.#readMoment();
    if (cached.length > 0 && moment.version !== cachedVersion) moment = await this.#lookUp(cached, found);
    const { version, now } = moment;
    this.#isQuiet = version !== null && version === this.#lastVersion;
    this.#lastVersion = version;
    const states = new Map<string, KeyState>();
    for (const [hash, key] of found) if (key !== null) states.set(hash, toState(key, () => now));
    return states;
  }

  /** @param found receives the results */
  async #lookUp(hashes: readonly string[], found: Map<string, FoundKey | null>): Promise<Moment> {
    const findBy = (column: string, isPrevious: boolean): string =>
      `SELECT ${column} AS hash, ${isPrevious} AS is_previous, id, revision, enabled, expires_at, grace_until
       FROM ${this.#tables.keys} WHERE ${column} = ANY($1::bytea[])`;
    const rows = await this.#rows({
      name: "find by secrets",
      text: `SELECT ${MOMENT}, version, resources_revision, key.*, encode(hash, 'hex') AS digest
             FROM ${this.#tables.schema} LEFT JOIN (
               ${findBy("secret_sha256", false)} UNION ALL ${findBy("previous_sha256", true)}
             ) AS key ON TRUE`,
      values: [hashes.map((hash) => `\\x${hash}`)],
    });
    requireKnownSchema(rows[0]?.["version"], this.#label);
    const moment = toMoment(rows[0]);
    for (const hash of hashes) found.set(hash, null);
    for (const row of rows) if (row["id"] !== null) found.set(String(row["digest"]), toFoundKey(row));
    if (moment.version === null) return moment;
    for (const hash of hashes) this.#lookUps.set(moment.version, hash, found.get(hash) ?? null);
    return moment;
  }

  async #readMoment(): Promise<Moment> {
    const [row] = await this.#rows({ name: "read moment", text: `SELECT ${MOMENT}` });
    return toMoment(row);
  }

  async findById(id: string): Promise<StoredKey | undefined> {
    const row = await this.#findRow(id);
    return row && rowToKey(row, this.#label);
  }

  async #findRows(ids: readonly string[]): Promise<ReadonlyMap<string, Row>> {
    const text = `SELECT * FROM ${this.#tables.keys} WHERE id = ANY($1)`;
    const rows = await this.#rows({ text, values: [ids] });
    return new Map(rows.map((row) => [String(row["id"]), row]));
  }

  async findByName(name: Name): Promise<StoredKey | undefined> {
    const text = `SELECT * FROM ${this.#tables.keys} WHERE name = $1`;
    const [row] = await this.#rows({ text, values: [name] });
    return row && rowToKey(row, this.#label);
  }

  async listPage({ sort, after, limit, owner }: PageOptions): Promise<readonly OrderedKey[]> {
    const conditions: string[] = [];
    const values: unknown[] = [];
    const parameter = (value: unknown): string => `$${values.push(value)}`;
    let order = "number";
    if (sort !== "CREATED") {
      const [expression, type] = SORT_VALUES[sort];
      order = `${expression}, number`;
      const end = after && (after.value ?? (sort === "EXPIRES" ? "infinity" : "-infinity"));
      if (after) conditions.push(`(${order}) > (${parameter(end)}::${type}, ${parameter(after.number)})`);
    } else if (after) conditions.push(`number > ${parameter(after.number)}`);
    if (owner !== undefined) {
      const id = parameter(owner);
      conditions.push(`(id = ${id} OR created_by = ${id})`);
    }
    const rows = await this.#rows({
      text: `SELECT * FROM ${this.#tables.keys} WHERE ${conditions.join(" AND ") || "TRUE"}
             ORDER BY ${order} LIMIT ${parameter(limit)}`,
      values,
    });
    return rows.map((row) => {
      const key = rowToKey(row, this.#label);
      return { key, position: positionOf(key, row["number"], sort) };
    });
  }

  list(owner?: string): AsyncIterable<StoredKey> {
    return listByPage((options) => this.listPage(options), PAGE, owner);
  }

  async isEmpty(): Promise<boolean> {
    const [row] = await this.#rows({
      text: `SELECT version, EXISTS (SELECT FROM ${this.#tables.keys}) AS has_keys FROM service_api.schema_version`,
    });
    requireKnownSchema(row?.["version"], this.#label);
    return row?.["has_keys"] === false;
  }

  async countKeys(): Promise<KeyCounts> {
    const count = (status: KeyStatus): string => `count(*) FILTER (WHERE status = '${status}') AS ${status}`;
    const [row = {}] = await this.#rows({
      text: `SELECT ${count("active")}, ${count("disabled")}, ${count("expired")},
               min(expires_at) FILTER (WHERE status = 'active') AS next_expiry
             FROM (SELECT ${STATUS} AS status, expires_at FROM ${this.#tables.keys}) AS key`,
    });
    return rowToCounts(row);
  }

  poolUse(): PoolUse {
    const { totalCount, idleCount, waitingCount, options } = this.#pool;
    return { busy: totalCount - idleCount, idle: idleCount, max: options.max, waiting: waitingCount };
  }

  async checkHealth(): Promise<void> {
    await this.isEmpty();
  }

  async listResources(): Promise<ResourceList> {
    return rowsToResources(
      await this.#rows({
        text: `SELECT resources_revision AS revision, name, description
               FROM ${this.#tables.schema} LEFT JOIN ${this.#tables.resources} ON TRUE ORDER BY name`,
      }),
    );
  }

  addResource(resource: CustomResource, origin: Origin, precondition: ResourcePrecondition): Promise<void> {
    const { name, description } = resource;
    return this.#change(async (sql) => {
      await lockResourceList(sql);
      precondition(await keepActor(sql, origin, this.#label));
      const { rows: [row] } = await sql.query<Row>("SELECT count(*) AS count FROM service_api.resource");
      requireAddable(resource, await findResource(sql, name), Number(row?.["count"]));
      await sql.query("INSERT INTO service_api.resource (name, description, created_at) VALUES ($1, $2, $3)", [
        name,
        description,
        origin.at.toISOString(),
      ]);
      await insertEvents(sql, [resourceEvent("ADD_RESOURCE", resource, origin)]);
    });
  }

  removeResource(name: string, origin: Origin, precondition: ResourcePrecondition): Promise<void> {
    return this.#change(async (sql) => {
      await lockResourceList(sql);
      precondition(await keepActor(sql, origin, this.#label));
      const resource = await findResource(sql, name);
      if (resource === undefined) throw resourceNotFound(name);
      // A later statement sees every key that was committed before the lock was granted.
      const { rows } = await sql.query<Row>(
        `SELECT name FROM service_api.api_key WHERE strpos(',' || permissions, $1) > 0
         ORDER BY number LIMIT ${KEYS_TO_NAME}`,
        [`,${name}:`],
      );
      requireUnused(name, rows.map((row) => String(row["name"])));
      await sql.query("DELETE FROM service_api.resource WHERE name = $1", [name]);
      await insertEvents(sql, [resourceEvent("REMOVE_RESOURCE", resource, origin)]);
    });
  }

  async recordUses(uses: ReadonlyMap<string, Date>): Promise<void> {
    // Locks rows in the same order as `lockKeys` does, which avoids deadlocks.
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

  async listEvents(
    after: string | undefined,
    limit: number,
    { since, key }: EventSelection = {},
  ): Promise<readonly AuditEvent[]> {
    const conditions = ["id > $2"];
    const values: unknown[] = [limit, after ?? "0"];
    if (since !== undefined) conditions.push(`at >= $${values.push(since)}`);
    if (key !== undefined) conditions.push(isEventOfKey(`$${values.push(key)}`, this.#tables));
    const rows = await this.#rows({
      text: `SELECT * FROM ${this.#tables.events} WHERE ${conditions.join(" AND ")} ORDER BY id LIMIT $1`,
      values,
    });
    return rows.map((row) => rowToEvent(row, this.#label));
  }

  async eventTimes(): ReturnType<KeyStore["eventTimes"]> {
    const text = "SELECT min(at) AS oldest, max(at) AS newest FROM service_api.audit_event";
    const [row] = await this.#rows({ text });
    return row && rowToTimes(row);
  }

  async dropEventsBefore(time: Date): Promise<void> {
    // Skips events that another process deletes, which avoids deadlocks.
    const text = `
      DELETE FROM service_api.audit_event WHERE id IN (
        SELECT id FROM service_api.audit_event WHERE at < $1 ORDER BY at LIMIT ${PAGE} FOR UPDATE SKIP LOCKED
      )
      RETURNING id`;
    // deno-lint-ignore no-await-in-loop -- lets other requests run between two statements
    while ((await this.#rows({ text, values: [time.toISOString()] })).length === PAGE);
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  async #rows(query: QueryConfig): Promise<readonly Row[]> {
    return (await this.#run(() => this.#pool.query<Row>(query))).rows;
  }

  #change<Result>(act: (sql: Queryable) => Promise<Result>): Promise<Result> {
    return this.#run(() =>
      inTransaction(this.#pool, this.#label, async (sql) => {
        // The join locks the keys. While this transaction runs, no other process can migrate them.
        const { rows: [row] } = await sql.query(
          "SELECT version FROM service_api.schema_version LEFT JOIN service_api.api_key ON FALSE",
        );
        requireKnownSchema(row?.version, this.#label);
        return await act(sql);
      })
    );
  }

  /**
   * Runs `act`. If the database rolls `act` back because of concurrent transactions, runs it again, but not after the
   * timeout has passed. Turns any other error of the database into a `Failure` that explains it to the user.
   */
  async #run<Result>(act: () => Promise<Result>): Promise<Result> {
    const { timeout, signal, onRetry } = this.#options;
    const deadline = performance.now() + timeout;
    for (let attempt = 1;; attempt++) {
      try {
        // deno-lint-ignore no-await-in-loop -- each attempt begins after the previous one
        return await unlessAborted(act(), signal);
      } catch (error) {
        if (!isRolledBack(error) || attempt === MAX_ATTEMPTS || performance.now() > deadline) {
          throw databaseFailure(this.#label, error);
        }
        onRetry?.(reasonOf(error));
      }
      // deno-lint-ignore no-await-in-loop -- lets the concurrent transactions finish
      await setTimeout(1 + Math.random() * MAX_DELAY);
    }
  }
}

/** Settles as `result` does, or rejects with `INTERRUPTED` if the signal is aborted first. */
function unlessAborted<Result>(result: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return result;
  const { promise, reject } = Promise.withResolvers<never>();
  const interrupt = (): void =>
    reject(
      new Failure("INTERRUPTED", "Interrupted. If a change was in progress, it may have taken effect.", {
        mayHaveExecuted: true,
      }),
    );
  if (signal.aborted) interrupt();
  signal.addEventListener("abort", interrupt);
  return Promise.race([result, promise]).finally(() => signal.removeEventListener("abort", interrupt));
}

/** @param row the columns of `MOMENT` */
function toMoment(row: Row = {}): Moment {
  const version = toText(row["moment_version"]);
  return { version, now: toTime(row["now"]).toISOString() };
}

function toFoundKey(row: Row): FoundKey {
  return {
    id: String(row["id"]),
    revision: Number(row["revision"]),
    resourcesRevision: Number(row["resources_revision"]),
    isEnabled: row["enabled"] === true,
    expiresAt: toOptionalTime(row["expires_at"])?.toISOString() ?? null,
    isPrevious: row["is_previous"] === true,
    graceUntil: toOptionalTime(row["grace_until"])?.toISOString() ?? null,
  };
}

/** Finds a resource, and waits for the transactions that keep it. */
async function findResource(sql: Queryable, name: string): Promise<CustomResource | undefined> {
  const { rows: [row] } = await sql.query<Row>(
    "SELECT description FROM service_api.resource WHERE name = $1 FOR UPDATE",
    [
      name,
    ],
  );
  return row && { name, description: toText(row["description"]) };
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
  const types = new Map([["at", "timestamptz"], ["occurrences", "integer"]]);
  const arrays = EVENT_COLUMNS.map((column, i) => `$${i + 1}::${types.get(column) ?? "text"}[]`);
  await sql.query("SELECT pg_advisory_xact_lock($1)", [AUDIT_LOCK_ID]);
  await sql.query(
    `INSERT INTO service_api.audit_event (${EVENT_COLUMNS.join(", ")}) SELECT * FROM unnest(${arrays.join(", ")})`,
    EVENT_COLUMNS.map((_column, i) => rows.map((row) => row[i] ?? null)),
  );
}
