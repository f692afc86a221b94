/** A key as a store holds it. */
import type { Name } from "../apikey/name.ts";
import type { Permission } from "../apikey/permission.ts";
import type { Role } from "../apikey/role.ts";

/** A key as it is stored: everything but its secret. Of all this only `lastUsedAt` ever changes. */
export interface StoredKey {
  /** `key_` and 22 base62 characters. */
  readonly id: string;
  /** Unique. */
  readonly name: Name;
  readonly description: string | null;
  readonly roles: readonly Role[];
  readonly permissions: readonly Permission[];
  readonly createdAt: Date;
  /** The id of the key that created it; `null` when the local caller did. That key may be gone. */
  readonly createdBy: string | null;
  /** When it last let somebody in, as far as it was recorded; `null` for never. */
  readonly lastUsedAt: Date | null;
  /** SHA-256 of the secret, unique, 32 bytes. */
  readonly secretHash: Uint8Array;
  /** The last four characters of the secret, for its mask. */
  readonly secretTail: string;
}
