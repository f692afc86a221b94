/**
 * Look-ups by hash that are asked for in the same turn of the event loop, sent as one. Each is sent after it was asked
 * for, so that it sees whatever was committed before.
 */
import { nextTurn } from "./next_turn.ts";

/** Finds the ids that go with hashes in hexadecimal; a hash that nobody has is not among the keys of the answer. */
export type FindAll = (hashes: readonly string[]) => Promise<ReadonlyMap<string, string>>;

interface Batch {
  readonly hashes: Set<string>;
  readonly found: Promise<ReadonlyMap<string, string>>;
}

export class LookupBatch {
  readonly #findAll: FindAll;
  /** The one that is still to be sent. */
  #next: Batch | undefined;

  constructor(findAll: FindAll) {
    this.#findAll = findAll;
  }

  async find(hash: Uint8Array): Promise<string | undefined> {
    const batch = this.#next ??= this.#open();
    const digits = hash.toHex();
    batch.hashes.add(digits);
    return (await batch.found).get(digits);
  }

  #open(): Batch {
    const hashes = new Set<string>();
    const found = nextTurn().then(() => {
      this.#next = undefined;
      return this.#findAll([...hashes]);
    });
    return { hashes, found };
  }
}
