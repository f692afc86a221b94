/**
 * The `KeyStore` interface: keys and their audit trail, on SQLite or PostgreSQL. Its guarantees also hold if several
 * processes use the same store at once.
 */
import type { Name } from "../apikey/name.ts";
import type { CustomResource } from "../apikey/permission.ts";
import type { AuditEvent, EventSelection, NewEvent, Origin } from "./audit_event.ts";
import type { OrderedKey, PageOptions } from "./key_order.ts";
import type { ResourceList } from "./resources/resource_list.ts";
import type { KeyState } from "./lookups/key_state.ts";
import type { StoredKey } from "./stored_key.ts";

/**
 * A check that runs inside the transaction of a change. If it throws, the change is rolled back. If the database rolls
 * the transaction back and the store repeats it, the check runs again.
 *
 * @param held the current state of the key that the change would remove; `undefined` if no key would be removed
 * @param actor the current state of the calling key; `null` for the local caller
 */
export type Precondition = (held: StoredKey | undefined, actor: StoredKey | null) => void;

/** A `Precondition` that is called for each of several ids, with `undefined` if no key has the id. */
export type RemovePrecondition = (held: StoredKey | undefined, actor: StoredKey | null, id: string) => void;

/**
 * A check that runs inside the transaction that adds or removes a resource, like a `Precondition`.
 *
 * @param actor the current state of the calling key; `null` for the local caller
 */
export type ResourcePrecondition = (actor: StoredKey | null) => void;

/** Selects one key. */
export type KeySelector = { readonly id: string } | { readonly name: Name };

export interface UpdateOptions {
  readonly action: "UPDATE" | "ROTATE";
  /** The name that `change` may give to the key. The store locks it before it reads the key. */
  readonly newName?: Name | undefined;
}

/**
 * Returns the key as the change leaves it, or the same object if nothing changes. Or throws a `Failure`, which rolls the
 * change back. Runs inside the transaction. If the database rolls the transaction back and the store repeats it, the
 * function runs again.
 *
 * @param actor the current state of the calling key; `null` for the local caller
 */
export type Change = (held: StoredKey, actor: StoredKey | null) => StoredKey;

/** How many keys a store has in each state. */
export interface KeyCounts {
  readonly active: number;
  /** Disabled keys, even if they have also expired. */
  readonly disabled: number;
  /** Enabled keys that have expired. */
  readonly expired: number;
  /** When the next active key expires; `null` if no active key expires. */
  readonly nextExpiry: Date | null;
}

/** The connections of this process to a database. */
export interface PoolUse {
  readonly busy: number;
  readonly idle: number;
  /** The maximum number of connections. */
  readonly max: number;
  /** How many operations wait for a connection. */
  readonly waiting: number;
}

/**
 * A store of keys. If the store is unavailable, every method except `close` throws a `Failure` with the code
 * `UNREACHABLE` or `TIMEOUT`. If `add`, `update`, `remove`, `addResource`, `removeResource` or `recordEvent` throws,
 * nothing was changed, unless the `Failure` and its message say that the change may have taken effect.
 */
export interface KeyStore {
  /**
   * Adds a key and its audit events in one transaction. If another key has the same name, the transaction also removes
   * the old key. If the old key is the calling key, the new key becomes the creator of the keys that the old key created.
   * Every reader sees exactly one of the two keys. The promise resolves when the change is on disk.
   *
   * @param precondition called with the key that already has the name, or with `undefined`
   * @throws {Failure} `INVALID_PERMISSION` if a permission of the key is on a resource that does not exist
   * @throws {Failure} `UNAUTHENTICATED` if the calling key was deleted or disabled
   * @throws what `precondition` throws
   */
  add(key: StoredKey, origin: Origin, precondition: Precondition): Promise<void>;
  /**
   * Changes one key and records the event in one transaction. The store increases `revision` and sets `updatedAt` to the
   * time of the origin. The promise resolves when the change is on disk. If `change` returns the key that it got, the
   * store writes nothing.
   *
   * @returns the key after the change; `undefined` if the key does not exist
   * @throws {Failure} `ALREADY_EXISTS` if another key has the new name
   * @throws {Failure} `INVALID_PERMISSION` if the change adds a permission on a resource that does not exist
   * @throws {Failure} `UNAUTHENTICATED` if the calling key was deleted or disabled
   * @throws what `change` throws
   */
  update(
    selector: KeySelector,
    origin: Origin,
    options: UpdateOptions,
    change: Change,
  ): Promise<StoredKey | undefined>;
  /**
   * Returns the state of the key whose current or previous secret has this SHA-256 hash. The server calls this method
   * to authenticate each request.
   *
   * @throws {Failure} `UNREACHABLE` if a newer version has migrated the store
   */
  findBySecretHash(hash: Uint8Array): Promise<KeyState | undefined>;
  findById(id: string): Promise<StoredKey | undefined>;
  findByName(name: Name): Promise<StoredKey | undefined>;
  /**
   * Returns the next keys in an order. While keys are added, changed and removed, a reader of all pages in the order
   * `CREATED` sees each key that exists throughout exactly once. In the other orders, this holds for the keys whose value
   * does not change.
   */
  listPage(options: PageOptions): Promise<readonly OrderedKey[]>;
  /**
   * Lists keys in the order of creation. Reads page by page, so the list may or may not show changes made meanwhile.
   *
   * @param owner the id of a key; if set, the list holds only this key and the keys that it created
   */
  list(owner?: string): AsyncIterable<StoredKey>;
  isEmpty(): Promise<boolean>;
  /**
   * Counts the keys. Reads every key, so the time grows with their number. Other requests can run meanwhile, so the
   * counts may or may not include changes made meanwhile.
   */
  countKeys(): Promise<KeyCounts>;
  /** Returns `undefined` if the store has no pool of connections. */
  poolUse(): PoolUse | undefined;
  /**
   * Checks that the store responds.
   *
   * @throws {Failure} `UNREACHABLE` or `TIMEOUT` if it does not, or if its file was removed or replaced after it was opened
   */
  checkHealth(): Promise<void>;
  /**
   * Removes the keys with these ids, and records an audit event for each key, in one transaction. If any of the ids does
   * not exist, removes no key and records no event.
   *
   * @param precondition called once for each distinct id
   * @returns whether the keys were removed
   * @throws {Failure} `UNAUTHENTICATED` if the calling key was deleted or disabled
   * @throws what `precondition` throws
   */
  remove(ids: readonly string[], origin: Origin, precondition: RemovePrecondition): Promise<boolean>;
  /** Returns the custom resources. */
  listResources(): Promise<ResourceList>;
  /**
   * Adds a custom resource and records an audit event in one transaction.
   *
   * @param resource its name must be one that `isResourceName` accepts, and not one of `RESOURCES`
   * @throws {Failure} `ALREADY_EXISTS` if there is a resource with this name
   * @throws {Failure} `FAILED` if there are too many resources
   * @throws {Failure} `UNAUTHENTICATED` if the calling key was deleted or disabled
   * @throws what `precondition` throws
   */
  addResource(resource: CustomResource, origin: Origin, precondition: ResourcePrecondition): Promise<void>;
  /**
   * Removes a custom resource and records an audit event in one transaction.
   *
   * @throws {Failure} `NOT_FOUND` if there is no resource with this name
   * @throws {Failure} `FAILED` if a key has a permission on the resource
   * @throws {Failure} `UNAUTHENTICATED` if the calling key was deleted or disabled
   * @throws what `precondition` throws
   */
  removeResource(name: string, origin: Origin, precondition: ResourcePrecondition): Promise<void>;
  /**
   * Records when keys, given by id, were last used. Ignores unknown ids, and times that are earlier than the recorded
   * time.
   */
  recordUses(uses: ReadonlyMap<string, Date>): Promise<void>;
  /** Records an audit event for one or more rejected changes. */
  recordEvent(event: NewEvent): Promise<void>;
  /**
   * Returns a page of the audit trail, oldest first.
   *
   * @param after the id of the last event of the previous page; `undefined` for the first page
   * @param limit the maximum number of events
   */
  listEvents(after: string | undefined, limit: number, selection?: EventSelection): Promise<readonly AuditEvent[]>;
  /** Returns the earliest and the latest time in the audit trail; `undefined` if it has no events. */
  eventTimes(): Promise<{ readonly oldest: Date; readonly newest: Date } | undefined>;
  /** Deletes all audit events from before `time`. */
  dropEventsBefore(time: Date): Promise<void>;
  /** Closes the connections and files of the store. */
  close(): Promise<void>;
}
