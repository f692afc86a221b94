/**
 * Combines the look-ups that are requested in one turn of the event loop into one query. The query is sent after the
 * last of these requests, so each look-up sees every change that was committed before its request.
 */
import { setImmediate } from "node:timers/promises";
import type { KeyState } from "./stored_key.ts";

/** Finds the states of keys by the hashes of their secrets, in hexadecimal. The result omits unknown hashes. */
export type FindAll = (hashes: readonly string[]) => Promise<ReadonlyMap<string, KeyState>>;

interface Batch {
  readonly hashes: Set<string>;
  readonly found: Promise<ReadonlyMap<string, KeyState>>;
}

/** @returns a function that finds the state of a key by the hash of its secret */
export function batchLookups(findAll: FindAll): (hash: Uint8Array) => Promise<KeyState | undefined> {
  /** The batch that has not been sent yet. */
  let next: Batch | undefined;

  function openBatch(): Batch {
    const hashes = new Set<string>();
    const found = setImmediate().then(() => {
      next = undefined;
      return findAll([...hashes]);
    });
    return { hashes, found };
  }

  return async (hash) => {
    const batch = next ??= openBatch();
    const hex = hash.toHex();
    batch.hashes.add(hex);
    return (await batch.found).get(hex);
  };
}
