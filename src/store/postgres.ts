/**
 * Keys in a PostgreSQL database that any number of processes on any number of machines may use at once. Its unique
 * constraints carry the guarantees; events enter the audit trail one transaction after the other, so that whoever
 * reads on from the last event misses none.
 */
import type { Sql, TransactionSql } from "postgres";
import { Failure } from "../apikey/failure.ts";
import type { Name } from "../apikey/name.ts";
import { type AuditEvent, eventOf, type NewEvent, notFound, type Origin } from "./audit_event.ts";
import type { Consent, KeyStore, StoredKey } from "./key_store.ts";
import {
  AUDIT_LOCK,
  connectPostgres,
  type DatabaseAddress,
  databaseFailure,
  migrate,
  NAME_LOCK,
} from "./postgres_database.ts";
import { EVENT_COLUMNS, fromEvent, fromKey, KEY_COLUMNS, toEvent, toKey } from "./row.ts";

export interface PostgresOptions {
  readonly address: DatabaseAddress;
  /** For a connection and for a statement, in milliseconds. */
  readonly timeout: number;
  /** Ends every wait for the database at once. */
  readonly signal?: AbortSignal | undefined;
}

/** How many keys are read, and how many old events dropped, at once. */
const PAGE = 1000;

/** How long anything may take, by the timeout: once for a connection and once for a statement. */
const PATIENCE = 2;

/**
 * Opens a store and brings its schema up to date.
 *
 * @throws {Failure} `UNREACHABLE` when the database cannot be reached or used, or was written by a newer version;
 * `TIMEOUT`; `INTERRUPTED`
 */
export function openPostgresStore(options: PostgresOptions): Promise<KeyStore> {
  return PostgresStore.open(options);
}

class PostgresStore implements KeyStore {
  readonly #options: PostgresOptions;
  readonly #label: string;
  #sql: Sql;

  private constructor(options: PostgresOptions) {
    this.#options = options;
    this.#label = options.address.label;
    this.#sql = connectPostgres(options.address, options.timeout);
  }

  static async open(options: PostgresOptions): Promise<PostgresStore> {
    const store = new PostgresStore(options);
    try {
      await store.#do((sql) => migrate(sql, store.#label));
      return store;
    } catch (error) {
      await store.#sql.end({ timeout: 0 });
      throw error;
    }
  }

  add(key: StoredKey, origin: Origin, consent: Consent): Promise<void> {
    return this.#do((pool) =>
      pool.begin("isolation level read committed", async (sql) => {
        const [, [row]] = await Promise.all([
          // Whoever wants the same name waits for its turn: the row alone would let all but one of them in, in vain.
          sql`SELECT pg_advisory_xact_lock(${NAME_LOCK}, hashtext(${key.name}))`,
          sql`SELECT * FROM service_api.api_key WHERE name = ${key.name} FOR UPDATE`,
        ]);
        const held = row && toKey(row, this.#label);
        consent(held);
        if (held !== undefined) await sql`DELETE FROM service_api.api_key WHERE id = ${held.id}`;
        await insert(sql, "api_key", KEY_COLUMNS, fromKey(key));
        const replaced = held === undefined ? [] : [eventOf("REPLACE", held, origin)];
        await insertEvents(sql, [...replaced, eventOf("CREATE", key, origin)]);
      })
    );
  }

  remove(ids: readonly string[], origin: Origin, consent: Consent): Promise<boolean> {
    const wanted = [...new Set(ids)];
    return this.#do((pool) =>
      pool.begin("isolation level read committed", async (sql) => {
        const rows = await sql`
          SELECT * FROM service_api.api_key WHERE id IN (SELECT jsonb_array_elements_text(${sql.json(wanted)}))
          ORDER BY number FOR UPDATE`;
        const held = rows.map((row) => toKey(row, this.#label));
        for (const key of held) consent(key);
        const missing = wanted.find((id) => !held.some((key) => key.id === id));
        if (missing !== undefined) {
          await insertEvents(sql, [notFound(missing, origin)]);
          return false;
        }
        await sql`DELETE FROM service_api.api_key WHERE id IN (SELECT jsonb_array_elements_text(${sql.json(wanted)}))`;
        await insertEvents(sql, held.map((key) => eventOf("DELETE", key, origin)));
        return true;
      })
    );
  }

  findIdBySecretHash(hash: Uint8Array): Promise<string | undefined> {
    return this.#do(async (sql) => {
      const [row] = await sql`SELECT id FROM service_api.api_key WHERE secret_hash = ${hash}`;
      return row && String(row["id"]);
    });
  }

  findById(id: string): Promise<StoredKey | undefined> {
    return this.#do(async (sql) => {
      const [row] = await sql`SELECT * FROM service_api.api_key WHERE id = ${id}`;
      return row && toKey(row, this.#label);
    });
  }

  findByName(name: Name): Promise<StoredKey | undefined> {
    return this.#do(async (sql) => {
      const [row] = await sql`SELECT * FROM service_api.api_key WHERE name = ${name}`;
      return row && toKey(row, this.#label);
    });
  }

  async *list(owner?: string): AsyncIterable<StoredKey> {
    for (let last = "0";;) {
      // deno-lint-ignore no-await-in-loop -- a page begins where the one before it ends
      const rows = await this.#do((sql) =>
        owner === undefined
          ? sql`SELECT * FROM service_api.api_key WHERE number > ${last} ORDER BY number LIMIT ${PAGE}`
          : sql`SELECT * FROM service_api.api_key WHERE number > ${last} AND (id = ${owner} OR created_by = ${owner})
                ORDER BY number LIMIT ${PAGE}`
      );
      for (const row of rows) yield toKey(row, this.#label);
      if (rows.length < PAGE) return;
      last = String(rows.at(-1)?.["number"]);
    }
  }

  isEmpty(): Promise<boolean> {
    return this.#do(async (sql) => (await sql`SELECT 1 FROM service_api.api_key LIMIT 1`).length === 0);
  }

  async recordUses(uses: ReadonlyMap<string, Date>): Promise<void> {
    const asked = [...uses].map(([id, at]) => ({ id, at: at.toISOString() }));
    // Rows are locked in the order in which `remove` does it, so that nobody waits in a circle.
    await this.#do((sql) =>
      sql`
        WITH used AS (
          SELECT id, asked.at FROM service_api.api_key
          JOIN jsonb_to_recordset(${sql.json(asked)}) AS asked(id TEXT, at TIMESTAMPTZ) USING (id)
          ORDER BY number FOR NO KEY UPDATE OF api_key
        )
        UPDATE service_api.api_key SET last_used_at = used.at
        FROM used WHERE api_key.id = used.id AND (last_used_at IS NULL OR last_used_at < used.at)`
    );
  }

  async recordEvent(event: NewEvent): Promise<void> {
    await this.#do((pool) => pool.begin((sql) => insertEvents(sql, [event])));
  }

  listEvents(after: string | undefined, limit: number): Promise<readonly AuditEvent[]> {
    return this.#do(async (sql) => {
      const rows = await sql`
        SELECT * FROM service_api.audit_event WHERE id > ${after ?? "0"} ORDER BY id LIMIT ${limit}`;
      return rows.map((row) => toEvent(row, this.#label));
    });
  }

  async dropEventsBefore(time: Date): Promise<void> {
    const drop = (): Promise<number> =>
      this.#do(async (sql) =>
        (await sql`
          DELETE FROM service_api.audit_event
          WHERE id IN (SELECT id FROM service_api.audit_event ORDER BY id LIMIT ${PAGE})
            AND at < ${time.toISOString()}`).count
      );
    // deno-lint-ignore no-await-in-loop -- others get their turn in between
    while (await drop() === PAGE);
  }

  close(): Promise<void> {
    return this.#sql.end({ timeout: 5 });
  }

  async #do<Result>(act: (sql: Sql) => PromiseLike<Result>): Promise<Result> {
    const sql = this.#sql;
    const patience = setTimeout(() => this.#startAfresh(sql), PATIENCE * this.#options.timeout);
    try {
      return await unlessAborted(act(sql), this.#options.signal);
    } catch (error) {
      throw databaseFailure(this.#label, error);
    } finally {
      clearTimeout(patience);
    }
  }

  /**
   * Gives up every connection and whatever waits for one. The driver itself goes on forever where the other end is
   * gone without a word, or closes each connection as soon as it is made.
   */
  #startAfresh(sql: Sql): void {
    if (sql === this.#sql) this.#sql = connectPostgres(this.#options.address, this.#options.timeout);
    void sql.end({ timeout: 0 });
  }
}

/** What comes of it, unless the signal is aborted first. */
function unlessAborted<Result>(result: PromiseLike<Result>, signal: AbortSignal | undefined): PromiseLike<Result> {
  if (signal === undefined) return result;
  const { promise, reject } = Promise.withResolvers<never>();
  const interrupt = (): void =>
    reject(new Failure("INTERRUPTED", "Interrupted. The database may have carried out the change under way."));
  if (signal.aborted) interrupt();
  signal.addEventListener("abort", interrupt);
  return Promise.race([result, promise]).finally(() => signal.removeEventListener("abort", interrupt));
}

async function insert(
  sql: TransactionSql,
  table: string,
  columns: readonly string[],
  values: readonly (string | Uint8Array | null)[],
): Promise<void> {
  const row = Object.fromEntries(columns.map((column, i) => [column, values[i] ?? null]));
  await sql`INSERT INTO service_api.${sql(table)} ${sql(row, ...columns)}`;
}

async function insertEvents(sql: TransactionSql, events: readonly NewEvent[]): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(${AUDIT_LOCK})`;
  await Promise.all(events.map((event) => insert(sql, "audit_event", EVENT_COLUMNS, fromEvent(event))));
}
