/**
 * Combines the look-ups of one turn of the event loop into one query. The query is sent after all of these look-ups were
 * requested, so each look-up sees every change that was committed before it.
 */
import { setImmediate } from "node:timers/promises";

/** Finds ids by hashes in hexadecimal. The result omits hashes that no key has. */
export type FindAll = (hashes: readonly string[]) => Promise<ReadonlyMap<string, string>>;

interface Batch {
  readonly hashes: Set<string>;
  readonly found: Promise<ReadonlyMap<string, string>>;
}

/** @returns a function that finds the id for one hash */
export function batchLookups(findAll: FindAll): (hash: Uint8Array) => Promise<string | undefined> {
  /** The batch that is not sent yet. */
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
