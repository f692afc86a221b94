/** Who is let in: finds out whose key a request carries (RFC 6750 section 2.1). */
import { Failure } from "../../apikey/failure.ts";
import { isWellFormedSecret } from "../../apikey/secret.ts";
import type { KeyStore } from "../../store/key_store.ts";
import { type Caller, callerOf } from "./caller.ts";
import type { LastUse } from "./last_use.ts";
import { setBounded } from "../set_bounded.ts";
import type { FailureThrottle } from "./throttle.ts";

/** SHA-256 of a secret in hexadecimal. */
export type HashSecret = (secret: string) => string | Promise<string>;

export interface AuthenticatorOptions {
  readonly store: KeyStore;
  readonly lastUse: LastUse;
  readonly hashSecret: HashSecret;
  readonly throttle: FailureThrottle;
}

/** Too many failures from one address: it has to wait. */
export class TooManyFailures extends Failure {
  constructor(
    /** Seconds. */
    readonly retryAfter: number,
  ) {
    super(
      "UNAUTHENTICATED",
      `Too many requests from this address came with no valid key. Try again in ${retryAfter} s.`,
    );
  }
}

/** How many callers are remembered: those whose keys were used first are forgotten first. */
const REMEMBERED_CALLERS = 10_000;

export class Authenticator {
  readonly #options: AuthenticatorOptions;
  /**
   * What is known of keys that were let in, by hash. A key never changes, so that this is right as long as the key is
   * there; whether it is, the store is asked each time.
   */
  readonly #callers = new Map<string, { readonly hash: Uint8Array; readonly caller: Caller }>();

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /**
   * @param authorization the value of the header, `null` when there is none
   * @param address the client's; `null` for the local one, which nothing is held against
   * @throws {Failure} `UNAUTHENTICATED`; {@linkcode TooManyFailures}, though not for keys that were let in before
   */
  async authenticate(authorization: string | null, address: string | null, now: Date): Promise<Caller> {
    const { store, lastUse, hashSecret, throttle } = this.#options;
    const wait = throttle.secondsToWait(address, now.getTime());
    const secret = authorization === null ? undefined : /^\s*bearer +(\S+)\s*$/i.exec(authorization)?.[1];
    const digest = secret === undefined ? "" : await hashSecret(secret);
    const known = this.#callers.get(digest);
    if (wait > 0 && known === undefined) throw new TooManyFailures(wait);
    try {
      if (authorization === null) {
        throw unauthenticated("This server needs a key: send it as Authorization: Bearer <API_KEY>.");
      }
      if (secret === undefined) {
        throw unauthenticated("The Authorization header is not of the form Bearer <API_KEY>.");
      }
      if (known === undefined && !isWellFormedSecret(secret)) {
        throw unauthenticated("The key is mistyped or cut short, or was not made by this kind of server.");
      }
      const hash = known?.hash ?? Uint8Array.fromHex(digest);
      const id = await store.findIdBySecretHash(hash);
      const key = id === undefined ? undefined : known?.caller.key ?? await store.findById(id);
      if (key === undefined || key.id !== id) {
        this.#callers.delete(digest);
        throw unauthenticated("The key is well formed, but this server does not know it, or no longer.");
      }
      lastUse.record(key.id, now);
      const caller = known?.caller ?? callerOf(key);
      if (known === undefined) setBounded(this.#callers, digest, { hash, caller }, REMEMBERED_CALLERS);
      return caller;
    } catch (error) {
      if (error instanceof Failure && error.code === "UNAUTHENTICATED") {
        throttle.recordFailure(address, now.getTime());
      }
      throw error;
    }
  }
}

function unauthenticated(message: string): Failure {
  return new Failure("UNAUTHENTICATED", message);
}
