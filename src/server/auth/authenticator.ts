/**
 * Finds the key of a request, for example in its `Authorization` header (RFC 6750 section 2.1). The other modules of this
 * folder throttle failed authentication, record when keys are used, and authorize callers.
 */
import { Failure } from "../../apikey/failure.ts";
import { KeyRejected } from "../../apikey/rejected_key.ts";
import { isWellFormedSecret, SECRET_LENGTH } from "../../apikey/secret.ts";
import type { KeyStore } from "../../store/key_store.ts";
import type { KeyState, KeyStatus } from "../../store/lookups/key_state.ts";
import { type Caller, callerOf, type KeyCaller } from "./caller.ts";
import type { ResourceCache } from "./known_resources.ts";
import type { LastUse } from "./last_use.ts";
import { setBounded } from "./bounded_map.ts";
import type { FailureThrottle } from "./throttle.ts";

/** Returns the SHA-256 of a secret in hexadecimal. */
export type HashSecret = (secret: string) => string | Promise<string>;

export interface AuthenticatorOptions {
  readonly store: KeyStore;
  readonly resources: ResourceCache;
  readonly lastUse: LastUse;
  readonly hashSecret: HashSecret;
  readonly throttle: FailureThrottle;
}

/** The error if too many requests from one address failed to authenticate. The client must wait. */
export class TooManyFailures extends Failure {
  /** @param retryAfter how long the client must wait, in seconds */
  constructor(readonly retryAfter: number) {
    super(
      "RATE_LIMITED",
      `Too many requests from this address had no valid key. Try again in ${retryAfter} s.`,
    );
  }
}

// These errors are created only once, because creating an error takes longer than the rest of a refusal.
const MISTYPED = new KeyRejected("mistyped", "The key is mistyped, truncated, or from another kind of server.");
const UNKNOWN = new KeyRejected(
  "unknown",
  "The key has a valid form, but this server does not know it. The key may have been deleted, or rotated more than once.",
);

/** How many callers are cached. If the cache is full, the caller that authenticated first is removed. */
const MAX_CALLERS = 10_000;

export class Authenticator {
  readonly #options: AuthenticatorOptions;
  /**
   * A cache of callers by the hash of their secret. Each request looks up the revisions of its key and of the resources
   * in the store. The server uses an entry only if both are unchanged and the secret is still valid.
   */
  readonly #callers = new Map<string, KeyCaller>();

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /**
   * Authenticates a request and returns its caller. A valid key always authenticates, even if the address must wait.
   *
   * @param authorization the value of the `Authorization` header; `null` if there is none
   * @param address the client's IP address; `null` for a request inside this process, which is never throttled
   * @throws {Failure} `UNAUTHENTICATED` if the request carries no valid key
   * @throws {TooManyFailures} if the request carries no valid key and the address must wait
   */
  async authenticate(authorization: string | null, address: string | null, now: Date): Promise<Caller> {
    return await this.throttled(address, () => this.authenticateSecret(readBearer(authorization), now));
  }

  /**
   * Runs a function that authenticates a request. If it fails too often for one address, makes the address wait.
   *
   * @param address see `authenticate`
   * @throws {TooManyFailures} if `authenticate` throws `UNAUTHENTICATED` and the address must wait
   * @throws what `authenticate` throws
   */
  async throttled<Result>(address: string | null, authenticate: () => Promise<Result>): Promise<Result> {
    try {
      return await authenticate();
    } catch (error) {
      const isRejected = error instanceof Failure && error.code === "UNAUTHENTICATED";
      const wait = isRejected ? this.#options.throttle.countFailure(address) : 0;
      throw wait > 0 ? new TooManyFailures(wait) : error;
    }
  }

  /**
   * Returns the caller that a secret authenticates, and records the use of the key. Failures are not throttled.
   *
   * @throws {KeyRejected} if the secret is not valid
   */
  async authenticateSecret(secret: string, now: Date): Promise<KeyCaller> {
    const caller = await this.identify(secret, now);
    if (caller instanceof KeyRejected) throw caller;
    return caller;
  }

  /**
   * Does what `authenticateSecret` does, but returns the rejection. Throwing it through several promises would take longer
   * than finding it.
   */
  async identify(secret: string, now: Date): Promise<KeyCaller | KeyRejected> {
    const { store, resources: cache, hashSecret, lastUse } = this.#options;
    // Hashing a long text would take the server longer than it takes a client to send it.
    if (secret.length !== SECRET_LENGTH) return MISTYPED;
    const hashed = hashSecret(secret);
    const digest = typeof hashed === "string" ? hashed : await hashed;
    const known = this.#callers.get(digest);
    if (known === undefined && !isWellFormedSecret(secret)) return MISTYPED;
    const hash = known?.secretHash ?? Uint8Array.fromHex(digest);
    const state = await store.findBySecretHash(hash);
    if (state === undefined) return this.#forget(digest);
    if (state.status !== "active") return new KeyRejected(state.status, REJECTIONS[state.status], state.id);
    lastUse.record(state.id, now);
    if (known !== undefined && isUnchanged(known, state)) return known;
    const resources = await cache.at(state.resourcesRevision);
    const key = await store.findById(state.id);
    if (key === undefined || resources === undefined) return this.#forget(digest);
    // Callers with an older list of resources are of no use anymore, and would keep the list in memory.
    if (known !== undefined && known.resources !== resources) this.#callers.clear();
    const caller = callerOf(key, hash, resources);
    setBounded(this.#callers, digest, caller, MAX_CALLERS);
    return caller;
  }

  #forget(digest: string): KeyRejected {
    this.#callers.delete(digest);
    return UNKNOWN;
  }
}

function isUnchanged({ key, resources }: KeyCaller, state: KeyState): boolean {
  return key.id === state.id && key.revision === state.revision && resources.revision === state.resourcesRevision;
}

/** @throws {Failure} `UNAUTHENTICATED` if the value of the `Authorization` header contains no key */
function readBearer(authorization: string | null): string {
  if (authorization === null) {
    throw unauthenticated("This server needs a key. Send it as Authorization: Bearer <API_KEY>.");
  }
  const secret = /^\s*bearer +(\S+)\s*$/i.exec(authorization)?.[1];
  if (secret !== undefined) return secret;
  throw unauthenticated("The Authorization header must have the form Bearer <API_KEY>.");
}

/** The messages for secrets that the store knows, but that are not valid. */
const REJECTIONS: Readonly<Record<Exclude<KeyStatus, "active">, string>> = {
  disabled: "The key is disabled. An administrator can enable it with service-api apikey update NAME --enable.",
  expired:
    "The key has expired. An administrator can extend its life with service-api apikey update NAME --expires-in 90d, or " +
    "issue a new secret with service-api apikey rotate NAME --expires-in 90d.",
  rotated: "The key was rotated, and this secret is no longer valid. Use the new secret.",
};

function unauthenticated(message: string): Failure {
  return new Failure("UNAUTHENTICATED", message);
}
