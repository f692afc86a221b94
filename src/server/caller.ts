/** Who makes a request, and what they may do (spec section 5). */
import { Failure } from "../apikey/failure.ts";
import type { Permission } from "../apikey/permission.ts";
import { EVERY_RIGHT, type Rights, rightsOf } from "../apikey/rights.ts";
import { hashSecret, isWellFormedSecret } from "../apikey/secret.ts";
import type { KeyStore } from "../store/key_store.ts";

export interface Caller {
  /** The id of the key that was presented; `null` for the local caller. */
  readonly keyId: string | null;
  readonly rights: Rights;
}

/** Whoever may read and write the data directory: has every right, needs no key. */
export const LOCAL_CALLER: Caller = { keyId: null, rights: EVERY_RIGHT };

/**
 * Finds out whose key an `Authorization` header carries (RFC 6750 section 2.1).
 *
 * @param authorization the value of the header, `null` when there is none
 * @throws {Failure} `UNAUTHENTICATED`
 */
export async function authenticate(authorization: string | null, store: KeyStore): Promise<Caller> {
  if (authorization === null) {
    throw new Failure("UNAUTHENTICATED", "This server needs a key: send it as Authorization: Bearer <API_KEY>.");
  }
  const secret = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1];
  if (secret === undefined) {
    throw new Failure("UNAUTHENTICATED", "The Authorization header is not of the form Bearer <API_KEY>.");
  }
  if (!isWellFormedSecret(secret)) {
    throw new Failure("UNAUTHENTICATED", "The key is mistyped or cut short, or was not made by this kind of server.");
  }
  const key = await store.findBySecretHash(await hashSecret(secret));
  if (key === undefined) {
    throw new Failure("UNAUTHENTICATED", "The key is well formed, but this server does not know it, or no longer.");
  }
  return { keyId: key.id, rights: rightsOf(key.roles, key.permissions) };
}

/**
 * Lets a caller pass who holds a right.
 *
 * @throws {Failure} `FORBIDDEN`, naming the right
 */
export function requireRight(caller: Caller, right: Permission): void {
  if (!caller.rights.has(right)) throw new Failure("FORBIDDEN", `This needs ${right}, which the key does not have.`);
}
