/**
 * The `KeyStore` interface: keys and their audit trail, on SQLite or PostgreSQL. Its guarantees hold between processes,
 * not only between calls.
 */
import type { Name } from "../apikey/name.ts";
import type { AuditEvent, NewEvent, Origin } from "./audit_event.ts";
import type { StoredKey } from "./stored_key.ts";

/**
 * Checks a change inside its transaction and throws to roll it back.
 *
 * @param held the key that the change would remove, as it is at that moment; `undefined` if it would remove none
 */
export type Precondition = (held: StoredKey | undefined) => void;

/**
 * A store of keys. If the store is unavailable, every method throws {@linkcode Failure} `UNREACHABLE` or `TIMEOUT`, and
 * nothing was changed. If it is unknown whether the change was made, the message says that it may have taken effect.
 */
export interface KeyStore {
  /**
   * Adds a key and its audit events in one transaction. The same transaction removes the key that has the same name.
   * The new key becomes the creator of the keys that the removed key had created. At every moment, exactly one of the
   * two keys exists. The promise resolves when the key is on disk.
   *
   * @param precondition called with the key that has the name
   * @throws {Failure} `UNAUTHENTICATED` if the calling key was deleted
   * @throws what `precondition` throws
   */
  add(key: StoredKey, origin: Origin, precondition: Precondition): Promise<void>;
  /** Returns the id of the key whose secret has this SHA-256. The server calls this for every request. */
  findIdBySecretHash(hash: Uint8Array): Promise<string | undefined>;
  findById(id: string): Promise<StoredKey | undefined>;
  findByName(name: Name): Promise<StoredKey | undefined>;
  /**
   * Lists keys in the order of creation, page by page. The list may or may not include changes made meanwhile.
   *
   * @param owner the id of a key; if set, the list holds only this key and the keys that it created
   */
  list(owner?: string): AsyncIterable<StoredKey>;
  isEmpty(): Promise<boolean>;
  /**
   * Removes all of the keys and records an audit event for each key, in one transaction. If one of the ids does not
   * exist, removes no key and records that id as `NOT_FOUND`.
   *
   * @param precondition called with each key
   * @returns whether the keys were removed
   * @throws {Failure} `UNAUTHENTICATED` if the calling key was deleted
   * @throws what `precondition` throws
   */
  remove(ids: readonly string[], origin: Origin, precondition: Precondition): Promise<boolean>;
  /** Records when keys were last used. Ignores ids that do not exist and times before the recorded one. */
  recordUses(uses: ReadonlyMap<string, Date>): Promise<void>;
  /** Records an audit event for a rejected change. */
  recordEvent(event: NewEvent): Promise<void>;
  /**
   * Returns a page of the audit trail, oldest first.
   *
   * @param after the id of the last event of the previous page; `undefined` for the first page
   * @param limit the maximum number of events
   */
  listEvents(after: string | undefined, limit: number): Promise<readonly AuditEvent[]>;
  /** Deletes all audit events that are older than `time`. */
  dropEventsBefore(time: Date): Promise<void>;
  /** Closes the connections and files of the store. */
  close(): Promise<void>;
}
