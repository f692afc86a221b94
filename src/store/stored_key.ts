/** A key in the key store. */
import type { Name } from "../apikey/name.ts";
import type { Permission } from "../apikey/permission.ts";
import type { Role } from "../apikey/role.ts";

/** Everything about a key except its secret. */
export interface StoredKey {
  /** `key_` and 22 base62 characters. */
  readonly id: string;
  /** See `KeyState`. */
  readonly revision: number;
  /** Unique. */
  readonly name: Name;
  readonly description: string | null;
  readonly roles: readonly Role[];
  /** Their resources may be unknown, for example if another program has changed the store. */
  readonly permissions: readonly Permission[];
  readonly createdAt: Date;
  /**
   * The id of the key that created this key. If that key replaced itself, the id of its successor. `null` if the local
   * caller created this key. The key with this id may no longer exist.
   */
  readonly createdBy: string | null;
  /** When this key was last used; `null` if no use is recorded. The server records uses with a delay. */
  readonly lastUsedAt: Date | null;
  /** The SHA-256 of the secret, 32 bytes. Unique among the current and previous secrets of all keys. */
  readonly secretHash: Uint8Array;
  /** The last four characters of the secret. Lists show them instead of the secret. */
  readonly secretTail: string;
  /** If `false`, the key keeps its name, and its secrets are rejected. */
  readonly enabled: boolean;
  /** From this time on, the secrets of the key are rejected. `null` if the key does not expire. */
  readonly expiresAt: Date | null;
  /** When the key was last updated or rotated; `null` if never. */
  readonly updatedAt: Date | null;
  /** The manifest that the key belongs to; `null` if none. */
  readonly managedBy: string | null;
  /** The SHA-256 of the secret before the last rotation; `null` if the key was never rotated. Stays until the next rotation. */
  readonly previousSecretHash: Uint8Array | null;
  /** From this time on, the previous secret is rejected. `null` if it was rejected at once, or if there is none. */
  readonly graceUntil: Date | null;
}
