/** Where keys and their audit trail live. The guarantees stated here hold between processes, not only between calls. */
import type { Name } from "../apikey/name.ts";
import type { AuditEvent, NewEvent, Origin } from "./audit_event.ts";
import type { StoredKey } from "./stored_key.ts";

/**
 * Has the last word on a change, inside its transaction, and throws to leave everything as it is.
 *
 * @param held the key that would be removed, as it is at that moment; `undefined` when none would be
 */
export type Precondition = (held: StoredKey | undefined) => void;

/**
 * A store of keys. Every method throws {@linkcode Failure} `UNREACHABLE` or `TIMEOUT` when the store is away, and
 * then nothing was changed unless the message says that it may have been.
 */
export interface KeyStore {
  /**
   * Adds a key, and the events of it to the audit trail, in one transaction. The key that has the name, if there is
   * one, is removed in the same transaction, so that there is no moment with neither and the old secret fails from
   * the commit on; the keys that it created are then the new key's. Of any number of callers racing for a name exactly one at a time has it. When the promise
   * resolves the key is on disk.
   *
   * @param precondition is asked with the key that has the name
   * @throws {Failure} `UNAUTHENTICATED` when the key that asks is gone; what `precondition` throws
   */
  add(key: StoredKey, origin: Origin, precondition: Precondition): Promise<void>;
  /** The id of the key with that hash of its secret: what each request is let in by. */
  findIdBySecretHash(hash: Uint8Array): Promise<string | undefined>;
  findById(id: string): Promise<StoredKey | undefined>;
  findByName(name: Name): Promise<StoredKey | undefined>;
  /**
   * Every key, or those that `owner` is or has created, in the order of creation. They are read page by page: what
   * is changed meanwhile may or may not be among them.
   */
  list(owner?: string): AsyncIterable<StoredKey>;
  isEmpty(): Promise<boolean>;
  /**
   * Removes keys, and adds an event for each to the audit trail, in one transaction, all or none: when one of the
   * ids is not there, nothing is removed and the trail tells which one.
   *
   * @param precondition is asked with each of the keys
   * @returns whether the keys were removed
   * @throws {Failure} `UNAUTHENTICATED` when the key that asks is gone; what `precondition` throws
   */
  remove(ids: readonly string[], origin: Origin, precondition: Precondition): Promise<boolean>;
  /** Records when keys were last used; ids that are gone are passed over, and no time is put back. */
  recordUses(uses: ReadonlyMap<string, Date>): Promise<void>;
  /** Adds an event to the audit trail that is not part of a change: a refusal. */
  recordEvent(event: NewEvent): Promise<void>;
  /**
   * A page of the audit trail, oldest first.
   *
   * @param after the id of the event before the first one; from the beginning without it
   * @param limit the most events to return
   */
  listEvents(after: string | undefined, limit: number): Promise<readonly AuditEvent[]>;
  /** Drops the events that are older than a time. */
  dropEventsBefore(time: Date): Promise<void>;
  /** Ends the use of the store. */
  close(): Promise<void>;
}
