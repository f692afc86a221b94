/** When keys were last used: kept in memory, and written for all of them together from time to time. */
import type { KeyStore } from "../../store/key_store.ts";

export class LastUse {
  readonly #store: KeyStore;
  #unwritten = new Map<string, Date>();

  constructor(store: KeyStore) {
    this.#store = store;
  }

  record(id: string, at: Date): void {
    this.#unwritten.set(id, at);
  }

  /** The later of the time that is stored and the one that is not yet. */
  of({ id, lastUsedAt }: { readonly id: string; readonly lastUsedAt: Date | null }): Date | null {
    const unwritten = this.#unwritten.get(id);
    return unwritten !== undefined && (lastUsedAt === null || unwritten > lastUsedAt) ? unwritten : lastUsedAt;
  }

  /**
   * Writes the times to the store. What cannot be written is kept for the next time.
   *
   * @throws {Failure} when the store is away
   */
  async write(): Promise<void> {
    if (this.#unwritten.size === 0) return;
    const uses = this.#unwritten;
    this.#unwritten = new Map();
    try {
      await this.#store.recordUses(uses);
    } catch (error) {
      this.#unwritten = new Map([...uses, ...this.#unwritten]);
      throw error;
    }
  }
}
