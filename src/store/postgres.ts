/**
 * Keys in a PostgreSQL database that any number of processes on any number of machines may use at once. Its unique
 * constraints carry the guarantees; events enter the audit trail one transaction after the other, so that whoever
 * reads on from the last event misses none.
 */
// @ts-types="@types/pg"
import type { Pool, QueryConfig } from "pg";
import { Failure } from "../apikey/failure.ts";
import type { Name } from "../apikey/name.ts";
import { actorIsGone, type AuditEvent, eventOf, type NewEvent, notFound, type Origin } from "./audit_event.ts";
import type { KeyStore, Precondition } from "./key_store.ts";
import type { StoredKey } from "./stored_key.ts";
import { LookupBatch } from "./lookup_batch.ts";
import {
  AUDIT_LOCK,
  connectPostgres,
  type DatabaseAddress,
  databaseFailure,
  inTransaction,
  migrate,
  NAME_LOCK,
  type Sql,
} from "./postgres_database.ts";
import { EVENT_COLUMNS, fromEvent, fromKey, KEY_COLUMNS, type Row, toEvent, toKey } from "./row.ts";

export interface PostgresOptions {
  readonly address: DatabaseAddress;
  /** For a connection and for a statement, in milliseconds. */
  readonly timeout: number;
  /** Ends every wait for the database at once. */
  readonly signal?: AbortSignal | undefined;
}

/** How many keys are read, and how many old events dropped, at once. */
const PAGE = 1000;

/**
 * Opens a store and brings its schema up to date.
 *
 * @throws {Failure} `UNREACHABLE` when the database cannot be reached or used, or was written by a newer version;
 * `TIMEOUT`; `INTERRUPTED`
 */
export async function openPostgresStore({ address, timeout, signal }: PostgresOptions): Promise<KeyStore> {
  const { label } = address;
  const pool = connectPostgres(address, timeout);
  try {
    await unlessAborted(migrate(pool, label), signal);
    return new PostgresStore(pool, label, signal);
  } catch (error) {
    // Not waited for: it waits for whoever still uses a connection.
    void pool.end();
    throw databaseFailure(label, error);
  }
}

class PostgresStore implements KeyStore {
  readonly #pool: Pool;
  readonly #label: string;
  readonly #signal: AbortSignal | undefined;
  readonly #lookups = new LookupBatch((hashes) => this.#findIds(hashes));

  constructor(pool: Pool, label: string, signal: AbortSignal | undefined) {
    this.#pool = pool;
    this.#label = label;
    this.#signal = signal;
  }

  add(key: StoredKey, origin: Origin, precondition: Precondition): Promise<void> {
    return this.#change(async (sql) => {
      await requireActor(sql, origin);
      // Whoever wants the same name waits for its turn: the row alone would let all but one of them in, in vain.
      await sql.query("SELECT pg_advisory_xact_lock($1, hashtext($2))", [NAME_LOCK, key.name]);
      const { rows: [row] } = await sql.query("SELECT * FROM service_api.api_key WHERE name = $1 FOR UPDATE", [
        key.name,
      ]);
      const held = row && toKey(row, this.#label);
      precondition(held);
      if (held !== undefined) {
        await sql.query("DELETE FROM service_api.api_key WHERE id = $1", [held.id]);
        await sql.query("UPDATE service_api.api_key SET created_by = $1 WHERE created_by = $2", [key.id, held.id]);
      }
      await insertKey(sql, key);
      const replaced = held === undefined ? [] : [eventOf("REPLACE", held, origin)];
      await insertEvents(sql, [...replaced, eventOf("CREATE", key, origin)]);
    });
  }

  remove(ids: readonly string[], origin: Origin, precondition: Precondition): Promise<boolean> {
    const wanted = [...new Set(ids)];
    return this.#change(async (sql) => {
      await requireActor(sql, origin);
      const { rows } = await sql.query(
        "SELECT * FROM service_api.api_key WHERE id = ANY($1) ORDER BY number FOR UPDATE",
        [wanted],
      );
      const held = rows.map((row) => toKey(row, this.#label));
      for (const key of held) precondition(key);
      const there = new Set(held.map(({ id }) => id));
      const missing = wanted.find((id) => !there.has(id));
      if (missing !== undefined) {
        await insertEvents(sql, [notFound(missing, origin)]);
        return false;
      }
      await sql.query("DELETE FROM service_api.api_key WHERE id = ANY($1)", [wanted]);
      await insertEvents(sql, held.map((key) => eventOf("DELETE", key, origin)));
      return true;
    });
  }

  findIdBySecretHash(hash: Uint8Array): Promise<string | undefined> {
    return this.#lookups.find(hash);
  }

  async #findIds(hashes: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#rows({
      name: "find ids",
      text:
        "SELECT encode(secret_hash, 'hex') AS hash, id FROM service_api.api_key WHERE secret_hash = ANY($1::bytea[])",
      values: [hashes.map((hash) => `\\x${hash}`)],
    });
    return new Map(rows.map((row) => [String(row["hash"]), String(row["id"])]));
  }

  findById(id: string): Promise<StoredKey | undefined> {
    return this.#find("SELECT * FROM service_api.api_key WHERE id = $1", id);
  }

  findByName(name: Name): Promise<StoredKey | undefined> {
    return this.#find("SELECT * FROM service_api.api_key WHERE name = $1", name);
  }

  async *list(owner?: string): AsyncIterable<StoredKey> {
    const own = owner === undefined ? "" : "AND (id = $2 OR created_by = $2)";
    const owners = owner === undefined ? [] : [owner];
    const text = `SELECT * FROM service_api.api_key WHERE number > $1 ${own} ORDER BY number LIMIT ${PAGE}`;
    for (let last = "0";;) {
      // deno-lint-ignore no-await-in-loop -- a page begins where the one before it ends
      const rows = await this.#rows({ text, values: [last, ...owners] });
      for (const row of rows) yield toKey(row, this.#label);
      if (rows.length < PAGE) return;
      last = String(rows.at(-1)?.["number"]);
    }
  }

  async isEmpty(): Promise<boolean> {
    return (await this.#rows({ text: "SELECT 1 FROM service_api.api_key LIMIT 1", values: [] })).length === 0;
  }

  async recordUses(uses: ReadonlyMap<string, Date>): Promise<void> {
    // Rows are locked in the order in which `remove` does it, so that nobody waits in a circle.
    await this.#rows({
      text: `
        WITH used AS (
          SELECT id, asked.at FROM service_api.api_key
          JOIN unnest($1::text[], $2::timestamptz[]) AS asked(id, at) USING (id)
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
    return rows.map((row) => toEvent(row, this.#label));
  }

  async dropEventsBefore(time: Date): Promise<void> {
    const text = `
      DELETE FROM service_api.audit_event
      WHERE id IN (SELECT id FROM service_api.audit_event WHERE at < $1 ORDER BY at LIMIT ${PAGE})
      RETURNING id`;
    // deno-lint-ignore no-await-in-loop -- others get their turn in between
    while ((await this.#rows({ text, values: [time.toISOString()] })).length === PAGE);
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  async #find(text: string, value: string): Promise<StoredKey | undefined> {
    const [row] = await this.#rows({ text, values: [value] });
    return row && toKey(row, this.#label);
  }

  async #rows(query: QueryConfig): Promise<readonly Row[]> {
    return (await this.#do(this.#pool.query<Row>(query))).rows;
  }

  #change<Result>(act: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#do(inTransaction(this.#pool, this.#label, act));
  }

  async #do<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await unlessAborted(work, this.#signal);
    } catch (error) {
      throw databaseFailure(this.#label, error);
    }
  }
}

/** What comes of it, unless the signal is aborted first. */
function unlessAborted<Result>(result: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return result;
  const { promise, reject } = Promise.withResolvers<never>();
  const interrupt = (): void =>
    reject(new Failure("INTERRUPTED", "Interrupted. The database may have carried out the change under way."));
  if (signal.aborted) interrupt();
  signal.addEventListener("abort", interrupt);
  return Promise.race([result, promise]).finally(() => signal.removeEventListener("abort", interrupt));
}

/** Nobody deletes the key that asks before the change is committed. */
async function requireActor(sql: Sql, { actor }: Origin): Promise<void> {
  if (actor === null) return;
  const { rows } = await sql.query("SELECT 1 FROM service_api.api_key WHERE id = $1 FOR KEY SHARE", [actor.id]);
  if (rows.length === 0) throw actorIsGone();
}

async function insertKey(sql: Sql, key: StoredKey): Promise<void> {
  const places = KEY_COLUMNS.map((_column, i) => `$${i + 1}`).join(", ");
  await sql.query(`INSERT INTO service_api.api_key (${KEY_COLUMNS.join(", ")}) VALUES (${places})`, fromKey(key));
}

async function insertEvents(sql: Sql, events: readonly NewEvent[]): Promise<void> {
  const rows = events.map(fromEvent);
  const arrays = EVENT_COLUMNS.map((column, i) => `$${i + 1}::${column === "at" ? "timestamptz" : "text"}[]`);
  await sql.query("SELECT pg_advisory_xact_lock($1)", [AUDIT_LOCK]);
  await sql.query(
    `INSERT INTO service_api.audit_event (${EVENT_COLUMNS.join(", ")}) SELECT * FROM unnest(${arrays.join(", ")})`,
    EVENT_COLUMNS.map((_column, i) => rows.map((row) => row[i] ?? null)),
  );
}
