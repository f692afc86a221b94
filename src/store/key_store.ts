/** Where keys live. The guarantees stated here hold between processes, not only between calls. */
import type { Name } from "../apikey/name.ts";
import type { Permission } from "../apikey/permission.ts";
import type { Role } from "../apikey/role.ts";

/** A key as it is stored: everything but its secret. */
export interface StoredKey {
  /** `key_` and 22 base62 characters. */
  readonly id: string;
  /** Unique. */
  readonly name: Name;
  readonly description: string | null;
  readonly roles: readonly Role[];
  readonly permissions: readonly Permission[];
  readonly createdAt: Date;
  /** SHA-256 of the secret, unique, 32 bytes. */
  readonly secretHash: Uint8Array;
  /** The last four characters of the secret, for its mask. */
  readonly secretTail: string;
}

/** A store of keys. Every method throws {@linkcode Failure} `UNREACHABLE` or `TIMEOUT` when the store is away. */
export interface KeyStore {
  /**
   * Adds a key. With `overwrite` the key that has its name is removed in the same transaction, so that there is
   * no moment with neither and the old secret fails from the commit on. Of any number of callers racing for a
   * name without `overwrite`, exactly one wins. When the promise resolves the key is on disk.
   *
   * @throws {Failure} `ALREADY_EXISTS` when the name is in use and `overwrite` is false
   */
  add(key: StoredKey, overwrite: boolean): Promise<void>;
  /** The key with that hash of its secret. */
  findBySecretHash(hash: Uint8Array): Promise<StoredKey | undefined>;
  findById(id: string): Promise<StoredKey | undefined>;
  findByName(name: Name): Promise<StoredKey | undefined>;
  /** Every key, in the order of creation. */
  list(): Promise<readonly StoredKey[]>;
  isEmpty(): Promise<boolean>;
  /**
   * Removes keys, all or none: when one of the ids is not there, nothing is removed.
   *
   * @returns whether the keys were removed
   */
  remove(ids: readonly string[]): Promise<boolean>;
  /** Ends the use of the store. */
  close(): Promise<void>;
}
