/**
 * Combines the look-ups that are requested in one turn of the event loop into one query. The query is sent after the
 * last of these requests, so each look-up sees every change that was committed before its request.
 */
import { nextTurn } from "./next_turn.ts";

/** Finds the values for these keys of a table. The result omits unknown keys. */
export type FindAll<Value> = (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>;

interface Batch<Value> {
  readonly keys: Set<string>;
  readonly found: Promise<ReadonlyMap<string, Value>>;
}

/** @returns a function that finds the value for one key; `undefined` if the key is unknown */
export function batchLookups<Value>(findAll: FindAll<Value>): (key: string) => Promise<Value | undefined> {
  /** The batch that has not been sent yet. */
  let next: Batch<Value> | undefined;

  function openBatch(): Batch<Value> {
    const keys = new Set<string>();
    const found = nextTurn().then(() => {
      next = undefined;
      return findAll([...keys]);
    });
    return { keys, found };
  }

  return async (key) => {
    const batch = next ??= openBatch();
    batch.keys.add(key);
    return (await batch.found).get(key);
  };
}
