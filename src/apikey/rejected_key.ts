/** Why a server rejects a key. */
import { Failure } from "./failure.ts";

export const REASONS = ["mistyped", "unknown", "disabled", "expired", "rotated"] as const;

/** `unknown`: the server has no such key. `rotated`: the key has a newer secret. */
export type Rejection = typeof REASONS[number];

/** The failure if a server rejects a key and says why. The reason is also in the extensions of the GraphQL error. */
export class KeyRejected extends Failure {
  /** @param keyId the id of the key; not set if no key is known */
  constructor(readonly reason: Rejection, message: string, readonly keyId?: string) {
    super("UNAUTHENTICATED", message);
  }
}

/** Whether a value is one of {@linkcode REASONS}. */
export function isRejection(value: unknown): value is Rejection {
  return REASONS.some((reason) => reason === value);
}
