/** A key in the key store. */
import type { Name } from "../apikey/name.ts";
import type { Permission } from "../apikey/permission.ts";
import type { Role } from "../apikey/role.ts";

/**
 * What the server looks up for each request. If a member differs from an earlier look-up, the key has changed, and the
 * server reads it again.
 */
export interface KeyState {
  /** `key_` and 22 base62 characters. */
  readonly id: string;
  /** Starts at 1. Each change to what the key may do or to its validity increases the revision. */
  readonly revision: number;
}

/** Everything about a key except its secret. */
export interface StoredKey extends KeyState {
  /** Unique. */
  readonly name: Name;
  readonly description: string | null;
  readonly roles: readonly Role[];
  readonly permissions: readonly Permission[];
  readonly createdAt: Date;
  /**
   * The id of the key that created this key. If that key replaced itself, the id of its successor. `null` if the local
   * caller created this key. The key with this id may no longer exist.
   */
  readonly createdBy: string | null;
  /** When this key was last used; `null` if no use is recorded. The server records uses with a delay. */
  readonly lastUsedAt: Date | null;
  /** The SHA-256 of the secret, 32 bytes. Unique. */
  readonly secretHash: Uint8Array;
  /** The last four characters of the secret. Lists show them instead of the secret. */
  readonly secretTail: string;
}
