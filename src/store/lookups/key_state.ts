/** What the server looks up for each request. */

/**
 * Whether a secret authenticates requests. Only `active` does. `rotated`: the key has a newer secret, and the grace period
 * of this one is over.
 */
export type KeyStatus = "active" | "disabled" | "expired" | "rotated";

/**
 * What the server looks up for each request, by the secret. If `id` or `revision` differs from an earlier look-up, the
 * key has changed, and the server reads it again. The same holds for `resourcesRevision` and the custom resources.
 */
export interface KeyState {
  /** `key_` and 22 base62 characters. */
  readonly id: string;
  /** Starts at 1. Each change to what the key may do or to its validity increases the revision. */
  readonly revision: number;
  /** The status at the time of the look-up. */
  readonly status: KeyStatus;
  /** Whether the secret is the one before the last rotation. */
  readonly isPrevious: boolean;
  /** The revision of the custom resources; see `ResourceList`. */
  readonly resourcesRevision: number;
}
