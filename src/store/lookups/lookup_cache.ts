/** Keeps the results of look-ups by secret until the store changes. */
import type { KeyState, KeyStatus } from "./key_state.ts";

/** A key that was found by its secret. The times are in the format of `Date.toISOString`. */
export interface FoundKey extends Omit<KeyState, "status"> {
  readonly isEnabled: boolean;
  readonly expiresAt: string | null;
  readonly graceUntil: string | null;
}

/** How many results are kept. If the cache is full, all of them are removed. */
const MAX_RESULTS = 10_000;

/** The results of look-ups in one version of a store. */
export class LookUpCache {
  readonly #results = new Map<string, FoundKey | null>();
  #version: unknown = null;

  /** The version of the store for which the results hold. Each store defines what a version is. */
  get version(): unknown {
    return this.#version;
  }

  /** @returns `null` if no key has a secret with this hash; `undefined` if the cache does not know */
  get(hash: string): FoundKey | null | undefined {
    return this.#results.get(hash);
  }

  /** Adds a result, and removes the results for any other version. */
  set(version: unknown, hash: string, found: FoundKey | null): void {
    if (version !== this.#version || this.#results.size >= MAX_RESULTS) this.#results.clear();
    this.#version = version;
    this.#results.set(hash, found);
  }

  clear(): void {
    this.#results.clear();
  }
}

/** @param now the current time in the format of `Date.toISOString` */
export function toState(found: FoundKey, now: () => string): KeyState {
  const { id, revision, isPrevious, resourcesRevision } = found;
  return { id, revision, status: statusAt(found, now), isPrevious, resourcesRevision };
}

function statusAt({ isEnabled, expiresAt, isPrevious, graceUntil }: FoundKey, now: () => string): KeyStatus {
  if (isPrevious && (graceUntil === null || graceUntil <= now())) return "rotated";
  if (!isEnabled) return "disabled";
  return expiresAt !== null && expiresAt <= now() ? "expired" : "active";
}
