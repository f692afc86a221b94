/** Who is making a request (spec section 5). */
import type { Rights } from "../../apikey/rights.ts";
import type { StoredKey } from "../../store/stored_key.ts";
import type { KnownResources } from "./known_resources.ts";

export type Caller = LocalCaller | KeyCaller;

/** A user whose command runs the server in its own process and sends no key. */
export interface LocalCaller {
  readonly key: null;
  readonly rights: Rights;
  readonly resources: KnownResources;
}

/** A request with a key. */
export interface KeyCaller {
  readonly key: StoredKey;
  readonly rights: Rights;
  /** The resources when the request was authenticated. */
  readonly resources: KnownResources;
  /** The SHA-256 of the secret that the request carries: the current secret of the key, or the one before. */
  readonly secretHash: Uint8Array;
  /** For the access log: `previous` if the request carries the secret before the last rotation. */
  readonly usedSecret: "previous" | undefined;
}

/** The local caller has all rights. */
export function localCaller(resources: KnownResources): LocalCaller {
  return { key: null, rights: resources.rightsOf(["ADMIN"], []), resources };
}

export function callerOf(key: StoredKey, secretHash: Uint8Array, resources: KnownResources): KeyCaller {
  const usedSecret = isCurrentSecret(key, secretHash) ? undefined : "previous";
  return { key, rights: resources.rightsOf(key.roles, key.permissions), resources, secretHash, usedSecret };
}

/** Returns when the secret of the request becomes invalid; `null` if never. */
export function validUntil({ key, secretHash }: KeyCaller): Date | null {
  return isCurrentSecret(key, secretHash) ? key.expiresAt : key.graceUntil;
}

/** Returns whether a secret, given by its hash, is the current secret of a key. */
export function isCurrentSecret(key: StoredKey, secretHash: Uint8Array): boolean {
  return key.secretHash.toHex() === secretHash.toHex();
}

/** Returns whether a secret, given by its hash, is the current secret of a key, or was given a grace period. */
export function isUnrevokedSecret(key: StoredKey, secretHash: Uint8Array): boolean {
  const hasGrace = key.graceUntil !== null && key.previousSecretHash?.toHex() === secretHash.toHex();
  return hasGrace || isCurrentSecret(key, secretHash);
}

/** Returns whether a key is the calling key or a key that the calling key created. `_OWN` permissions cover these keys. */
export function isOwn(caller: Caller, { id, createdBy }: Pick<StoredKey, "id" | "createdBy">): boolean {
  return caller.key !== null && (id === caller.key.id || createdBy === caller.key.id);
}
