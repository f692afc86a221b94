/**
 * The SQLite store. WAL mode allows any number of processes on one machine to use the file at once. `synchronous=FULL`
 * ensures that a change is on disk when its promise resolves. Every transaction that writes begins with
 * `BEGIN IMMEDIATE`, so no other process can change what the transaction has read.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { Failure, quote } from "../apikey/failure.ts";
import { type Name, nameTaken } from "../apikey/name.ts";
import type { CustomResource, Permission } from "../apikey/permission.ts";
import {
  alteration,
  type AuditEvent,
  creation,
  type EventSelection,
  type NewEvent,
  type Origin,
  removal,
  replacesItself,
  requireValidActor,
  resourceEvent,
} from "./audit_event.ts";
import { type KeySort, listByPage, type OrderedKey, type PageOptions, positionOf } from "./key_order.ts";
import type {
  Change,
  KeyCounts,
  KeySelector,
  KeyStore,
  Precondition,
  RemovePrecondition,
  ResourcePrecondition,
  UpdateOptions,
} from "./key_store.ts";
import {
  KEYS_TO_NAME,
  newResources,
  requireAddable,
  requireExisting,
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
  rowToTimes,
  toText,
  valuesToKey,
} from "./row.ts";
import {
  inTransaction,
  openDatabase,
  openExistingDatabase,
  requireKnownSchema,
  retryWhileBusy,
  type WaitOptions,
} from "./sqlite_database.ts";
import type { KeyState } from "./lookups/key_state.ts";
import type { StoredKey } from "./stored_key.ts";
import { GroupCommit } from "./group_commit.ts";
import { type FoundKey, LookUpCache, toState } from "./lookups/lookup_cache.ts";
import { UnmigratedStore } from "./unmigrated_store.ts";

export interface SqliteOptions extends WaitOptions {
  /** The data directory, created with mode 0700 if missing. The store is the file `keys.db` in it. */
  readonly directory: string;
  /**
   * Resolves in the next turn of the event loop. Awaited before a transaction begins, so that concurrent writes join the
   * transaction; before look-ups, so that they share a check for changes; and between the pages of a long list, so that
   * other requests can run. A command that makes only one request does not need this function.
   */
  readonly nextTurn?: (() => Promise<void>) | undefined;
  /** Called when the first change has created a store that was opened on demand. */
  readonly onCreate?: (() => void) | undefined;
  /** The clock that decides which keys have expired. */
  readonly now?: (() => Date) | undefined;
}

/** How many keys one statement reads, and how many events one statement deletes. */
const PAGE = 1000;

/** The SQL expression whose value sorts keys. */
const SORT_VALUES: Readonly<Record<Exclude<KeySort, "CREATED">, string>> = {
  NAME: "name",
  USED: "ifnull(last_used_at, '')",
  // A time begins with a digit, which sorts before a tilde.
  EXPIRES: "ifnull(expires_at, '~')",
};

/**
 * Opens the store, creates it if it is missing, and migrates its schema.
 *
 * @throws {Failure} `USAGE` if the directory is a file or is inside a file
 * @throws {Failure} `UNREACHABLE` if the file cannot be created, read or written, if it is damaged, if it belongs to another
 * program, or if a newer version wrote it
 * @throws {Failure} `TIMEOUT` if another process keeps the file locked
 * @throws {Failure} `INTERRUPTED` if `signal` is aborted while another process keeps the file locked
 */
export async function openSqliteStore(options: SqliteOptions): Promise<KeyStore> {
  const path = `${options.directory}/keys.db`;
  return new SqliteStore(await openDatabase(options.directory, path, options), path, options);
}

/**
 * Opens the store, but creates or migrates it only before the first change. Until then, a missing store is empty.
 *
 * @throws {Failure} the failures that `openSqliteStore` lists
 */
export async function openSqliteStoreOnDemand(options: SqliteOptions): Promise<KeyStore> {
  const path = `${options.directory}/keys.db`;
  const existing = await openExistingDatabase(options.directory, path, options);
  const store = existing && new SqliteStore(existing.database, path, options);
  if (store !== undefined && !existing?.isOlder) return store;
  return new UnmigratedStore(store, async () => {
    const current = await openSqliteStore(options);
    if (store === undefined) options.onCreate?.();
    return current;
  });
}

/** Counts the keys of a page by their state. `last` is the number of the last key; `null` if the page is empty. */
const COUNT_PAGE = `
  SELECT count(*) FILTER (WHERE state = 'active') AS active, count(*) FILTER (WHERE state = 'disabled') AS disabled,
    count(*) FILTER (WHERE state = 'expired') AS expired, max(number) AS last,
    min(expires_at) FILTER (WHERE state = 'active') AS next_expiry
  FROM (
    SELECT number, expires_at,
      CASE WHEN enabled <> 1 THEN 'disabled' WHEN expires_at <= ?1 THEN 'expired' ELSE 'active' END AS state
    FROM api_key WHERE number > ?2 ORDER BY number LIMIT ${PAGE}
  )`;

const FIND_BY_SECRET = `
  SELECT id, api_key.revision, resource_list.revision, enabled, expires_at, secret_sha256 <> ?1, grace_until
  FROM api_key, resource_list WHERE secret_sha256 = ?1 OR previous_sha256 = ?1`;

/** @param row the columns of `FIND_BY_SECRET` */
function toFoundKey(
  [id, revision, resourcesRevision, enabled, expiresAt, isPrevious, graceUntil]: readonly unknown[],
): FoundKey {
  return {
    id: String(id),
    revision: Number(revision),
    resourcesRevision: Number(resourcesRevision),
    isEnabled: enabled === 1,
    expiresAt: expiresAt === null ? null : String(expiresAt),
    isPrevious: isPrevious === 1,
    graceUntil: graceUntil === null ? null : String(graceUntil),
  };
}

type FileIdentity = Pick<Deno.FileInfo, "dev" | "ino">;

class SqliteStore implements KeyStore {
  readonly #database: DatabaseSync;
  readonly #path: string;
  /** The path in messages. */
  readonly #label: string;
  /** The file that is open; `undefined` if it was removed while it was opened. */
  readonly #file: FileIdentity | undefined;
  readonly #options: SqliteOptions;
  readonly #writes: GroupCommit;
  /** The results of look-ups. Their version is SQLite's data version. Changes of this process clear the cache. */
  readonly #lookUps = new LookUpCache();
  /** The check that look-ups wait for; `undefined` if the next look-up starts it. */
  #refreshing: Promise<void> | undefined;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync, path: string, options: SqliteOptions) {
    this.#database = database;
    this.#path = path;
    this.#label = quote(path);
    this.#file = this.#statFile();
    this.#options = options;
    this.#writes = new GroupCommit(database, path, options, options.nextTurn);
  }

  add(key: StoredKey, origin: Origin, precondition: Precondition): Promise<void> {
    return this.#write(() => {
      const actor = this.#requireActor(origin);
      const held = this.#find("name", key.name);
      precondition(held, actor);
      this.#requireResources(key.permissions);
      if (held !== undefined) this.#removeOne(held, "REPLACE", origin);
      if (held !== undefined && replacesItself(held, origin)) {
        this.#prepared("UPDATE api_key SET created_by = ?, revision = revision + 1 WHERE created_by = ?")
          .run(key.id, held.id);
      }
      this.#insert("api_key", KEY_COLUMNS, keyToRow(key));
      this.#insertEvent(creation(key, origin));
    });
  }

  update(
    selector: KeySelector,
    origin: Origin,
    { action }: UpdateOptions,
    change: Change,
  ): Promise<StoredKey | undefined> {
    return this.#write(() => {
      const actor = this.#requireActor(origin);
      const held = "id" in selector ? this.#find("id", selector.id) : this.#find("name", selector.name);
      if (held === undefined) return undefined;
      const changed = change(held, actor);
      if (changed === held) return held;
      this.#requireResources(changed.permissions, held.permissions);
      const key = { ...changed, revision: held.revision + 1, updatedAt: origin.at };
      if (key.name !== held.name && this.#find("name", key.name) !== undefined) throw nameTaken(key.name);
      const columns = KEY_COLUMNS.map((column) => `${column} = ?`).join(", ");
      this.#prepared(`UPDATE api_key SET ${columns} WHERE id = ?`).run(...keyToRow(key), held.id);
      this.#insertEvent(alteration(action, held, key, origin));
      return key;
    });
  }

  remove(ids: readonly string[], origin: Origin, precondition: RemovePrecondition): Promise<boolean> {
    const distinctIds = [...new Set(ids)];
    return this.#write(() => {
      const actor = this.#requireActor(origin);
      const held = distinctIds.map((id) => this.#find("id", id));
      distinctIds.forEach((id, i) => precondition(held[i], actor, id));
      const keys = held.filter((key) => key !== undefined);
      if (keys.length < distinctIds.length) return false;
      for (const key of keys) this.#removeOne(key, "DELETE", origin);
      return true;
    });
  }

  async findBySecretHash(hash: Uint8Array): Promise<KeyState | undefined> {
    await (this.#refreshing ??= this.#refreshLookUps());
    const digest = hash.toHex();
    const known = this.#lookUps.get(digest);
    const found = known === undefined ? await this.#read(() => this.#lookUp(hash, digest)) : known;
    return found === null ? undefined : toState(found, this.#now);
  }

  /**
   * Forgets the results of look-ups if another process has changed the store. The look-ups that are requested in one turn
   * of the event loop wait for the same check, so it sees every change that was committed before their requests.
   */
  async #refreshLookUps(): Promise<void> {
    await this.#options.nextTurn?.();
    this.#refreshing = undefined;
    await this.#read(() => {
      if (this.#dataVersion() !== this.#lookUps.version) this.#lookUps.clear();
    });
  }

  #lookUp(hash: Uint8Array, digest: string): FoundKey | null {
    return inTransaction(this.#database, "DEFERRED", () => {
      this.#requireKnownSchema();
      const version = this.#dataVersion();
      const row = this.#firstRow(FIND_BY_SECRET, hash);
      const found = row === undefined ? null : toFoundKey(row);
      this.#lookUps.set(version, digest, found);
      return found;
    });
  }

  /** Returns a number that changes whenever another connection has changed the store. */
  #dataVersion(): unknown {
    return this.#firstRow("PRAGMA data_version")?.[0];
  }

  /** Returns the current time in the format of the times in the store. */
  readonly #now = (): string => (this.#options.now?.() ?? new Date()).toISOString();

  findById(id: string): Promise<StoredKey | undefined> {
    return this.#read(() => this.#find("id", id));
  }

  findByName(name: Name): Promise<StoredKey | undefined> {
    return this.#read(() => this.#find("name", name));
  }

  listPage({ sort, after, limit, owner }: PageOptions): Promise<readonly OrderedKey[]> {
    const order = sort === "CREATED" ? "number" : `${SORT_VALUES[sort]}, number`;
    const conditions: string[] = [];
    const values: SQLInputValue[] = [];
    if (after !== undefined && sort === "CREATED") {
      conditions.push("number > ?");
      values.push(BigInt(after.number));
    } else if (after !== undefined) {
      conditions.push(`(${order}) > (?, ?)`);
      values.push(after.value ?? (sort === "EXPIRES" ? "~" : ""), BigInt(after.number));
    }
    if (owner !== undefined) {
      conditions.push("(id = ? OR created_by = ?)");
      values.push(owner, owner);
    }
    const select = `SELECT ${KEY_COLUMNS.join(", ")}, number FROM api_key
                    WHERE ${conditions.join(" AND ") || "TRUE"} ORDER BY ${order} LIMIT ?`;
    return this.#read(() =>
      this.#rows(select, ...values, limit).map((row) => {
        const key = valuesToKey(row, this.#label);
        return { key, position: positionOf(key, row.at(-1), sort) };
      })
    );
  }

  list(owner?: string): AsyncIterable<StoredKey> {
    return listByPage((options) => this.listPage(options), PAGE, owner, () => this.#options.nextTurn?.());
  }

  isEmpty(): Promise<boolean> {
    return this.#read(() => {
      this.#requireKnownSchema();
      return this.#prepared("SELECT 1 FROM api_key LIMIT 1").get() === undefined;
    });
  }

  async countKeys(): Promise<KeyCounts> {
    const { now = () => new Date(), nextTurn } = this.#options;
    const time = now().toISOString();
    const sum = { active: 0, disabled: 0, expired: 0 };
    let next: Date | null = null;
    for (let after: SQLInputValue = 0;;) {
      const page = (): Row | undefined => this.#prepared(COUNT_PAGE).get(time, after);
      // deno-lint-ignore no-await-in-loop -- each page begins after the previous one
      const row = await this.#read(page);
      if (row === undefined || row["last"] === null) return { ...sum, nextExpiry: next };
      const { active, disabled, expired, nextExpiry } = rowToCounts(row);
      sum.active += active;
      sum.disabled += disabled;
      sum.expired += expired;
      if (nextExpiry !== null && (next === null || nextExpiry < next)) next = nextExpiry;
      after = Number(row["last"]);
      // deno-lint-ignore no-await-in-loop -- lets other requests run between two pages
      await nextTurn?.();
    }
  }

  poolUse(): undefined {
    return undefined;
  }

  async checkHealth(): Promise<void> {
    await this.isEmpty();
    this.#requireSameFile();
  }

  listResources(): Promise<ResourceList> {
    return this.#read(() =>
      rowsToResources(
        this.#prepared("SELECT revision, name, description FROM resource_list LEFT JOIN resource ON TRUE ORDER BY name")
          .all(),
      )
    );
  }

  addResource(resource: CustomResource, origin: Origin, precondition: ResourcePrecondition): Promise<void> {
    const { name, description } = resource;
    return this.#write(() => {
      precondition(this.#requireActor(origin));
      const { count } = this.#prepared("SELECT count(*) AS count FROM resource").get() ?? {};
      requireAddable(resource, this.#findResource(name), Number(count));
      this.#insert("resource", ["name", "description", "created_at"], [name, description, origin.at.toISOString()]);
      this.#changeResources(resourceEvent("ADD_RESOURCE", resource, origin));
    });
  }

  removeResource(name: string, origin: Origin, precondition: ResourcePrecondition): Promise<void> {
    return this.#write(() => {
      precondition(this.#requireActor(origin));
      const resource = this.#findResource(name);
      if (resource === undefined) throw resourceNotFound(name);
      const keys = this.#prepared(
        `SELECT name FROM api_key WHERE instr(',' || permissions, ?) > 0 ORDER BY number LIMIT ${KEYS_TO_NAME}`,
      ).all(`,${name}:`);
      requireUnused(name, keys.map((row) => String(row["name"])));
      this.#prepared("DELETE FROM resource WHERE name = ?").run(name);
      this.#changeResources(resourceEvent("REMOVE_RESOURCE", resource, origin));
    });
  }

  #findResource(name: string): CustomResource | undefined {
    const row = this.#prepared("SELECT description FROM resource WHERE name = ?").get(name);
    return row && { name, description: toText(row["description"]) };
  }

  #changeResources(event: NewEvent): void {
    this.#prepared("UPDATE resource_list SET revision = revision + 1").run();
    this.#insertEvent(event);
  }

  /** Throws unless the resources of new permissions exist. */
  #requireResources(granted: readonly Permission[], held?: readonly Permission[]): void {
    const names = newResources(granted, held);
    requireExisting(names, names.filter((name) => this.#findResource(name) !== undefined));
  }

  recordUses(uses: ReadonlyMap<string, Date>): Promise<void> {
    return this.#write(() => {
      const update = this.#prepared(
        "UPDATE api_key SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)",
      );
      for (const [id, at] of uses) update.run(at.toISOString(), id, at.toISOString());
    });
  }

  recordEvent(event: NewEvent): Promise<void> {
    return this.#write(() => this.#insertEvent(event));
  }

  listEvents(
    after: string | undefined,
    limit: number,
    { since, key }: EventSelection = {},
  ): Promise<readonly AuditEvent[]> {
    const conditions = ["id > ?2"];
    const values: SQLInputValue[] = [limit, BigInt(after ?? 0)];
    if (since !== undefined) conditions.push(`at >= ?${values.push(since.toISOString())}`);
    if (key !== undefined) {
      conditions.push(isEventOfKey(`?${values.push(key)}`, { keys: "api_key", events: "audit_event" }));
    }
    const select = `SELECT * FROM audit_event WHERE ${conditions.join(" AND ")} ORDER BY id LIMIT ?1`;
    return this.#read(() => this.#prepared(select).all(...values).map((row) => rowToEvent(row, this.#label)));
  }

  eventTimes(): ReturnType<KeyStore["eventTimes"]> {
    return this.#read(() => {
      const row = this.#prepared(
        "SELECT (SELECT min(at) FROM audit_event) AS oldest, (SELECT max(at) FROM audit_event) AS newest",
      ).get();
      return row && rowToTimes(row);
    });
  }

  async dropEventsBefore(time: Date): Promise<void> {
    const drop = (): number | bigint =>
      this.#prepared(
        `DELETE FROM audit_event WHERE id IN (SELECT id FROM audit_event WHERE at < ? ORDER BY at LIMIT ${PAGE})`,
      ).run(time.toISOString()).changes;
    // deno-lint-ignore no-await-in-loop -- lets other requests run between two statements
    while (Number(await this.#write(drop)) === PAGE);
  }

  close(): Promise<void> {
    return this.#read(() => this.#database.close());
  }

  #find(column: "id" | "name", value: string): StoredKey | undefined {
    const row = this.#firstRow(`SELECT ${KEY_COLUMNS.join(", ")} FROM api_key WHERE ${column} = ?`, value);
    return row && valuesToKey(row, this.#label);
  }

  /**
   * Begins a change. Throws if the file was removed or replaced, if a newer version has migrated the store, or if the
   * calling key was deleted or disabled.
   *
   * @returns the calling key; `null` for the local caller
   */
  #requireActor({ actor }: Origin): StoredKey | null {
    this.#requireSameFile();
    this.#requireKnownSchema();
    return actor === null ? null : requireValidActor(this.#find("id", actor.id));
  }

  /** SQLite can still write to a file that has no name anymore. Every change would be lost when this process ends. */
  #requireSameFile(): void {
    const file = this.#statFile();
    if (file !== undefined && file.dev === this.#file?.dev && file.ino === this.#file.ino) return;
    throw new Failure(
      "UNREACHABLE",
      `The store ${quote(this.#path)} was removed or replaced while the server had it open. Restart the server.`,
    );
  }

  #statFile(): FileIdentity | undefined {
    try {
      return Deno.statSync(this.#path);
    } catch {
      return undefined;
    }
  }

  #requireKnownSchema(): void {
    requireKnownSchema(this.#prepared("PRAGMA user_version").get()?.["user_version"], this.#path);
  }

  #removeOne(key: StoredKey, action: "REPLACE" | "DELETE", origin: Origin): void {
    this.#prepared("DELETE FROM api_key WHERE id = ?").run(key.id);
    this.#insertEvent(removal(action, key, origin));
  }

  #insertEvent(event: NewEvent): void {
    this.#insert("audit_event", EVENT_COLUMNS, eventToRow(event));
  }

  #insert(table: string, columns: readonly string[], values: SQLInputValue[]): void {
    const placeholders = columns.map(() => "?").join(", ");
    this.#prepared(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${placeholders})`).run(...values);
  }

  /** Returns the first row of a query as an array, which is faster than an object. */
  #firstRow(sql: string, ...values: readonly SQLInputValue[]): readonly unknown[] | undefined {
    const row: unknown = this.#preparedForArrays(sql).get(...values);
    return Array.isArray(row) ? row : undefined;
  }

  /** Returns the rows of a query as arrays. */
  #rows(sql: string, ...values: SQLInputValue[]): readonly (readonly unknown[])[] {
    const rows: readonly unknown[] = this.#preparedForArrays(sql).all(...values);
    return rows.filter((row) => Array.isArray(row));
  }

  #preparedForArrays(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#prepared(sql);
    statement.setReturnArrays(true);
    return statement;
  }

  #prepared(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  #write<Result>(act: () => Result): Promise<Result> {
    return this.#writes.write(() => {
      this.#lookUps.clear();
      return act();
    });
  }

  #read<Result>(act: () => Result): Promise<Result> {
    return retryWhileBusy(this.#path, this.#options, act);
  }
}
