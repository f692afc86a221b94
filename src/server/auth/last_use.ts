/** Records when each key was last used. The times stay in memory until `write` writes all of them to the store. */
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

  /** Returns when a key was last used: the later of the stored time and the time in memory. */
  of({ id, lastUsedAt }: { readonly id: string; readonly lastUsedAt: Date | null }): Date | null {
    const unwritten = this.#unwritten.get(id);
    return unwritten !== undefined && (lastUsedAt === null || unwritten > lastUsedAt) ? unwritten : lastUsedAt;
  }

  /**
   * Writes the times to the store. If writing fails, the times stay in memory for the next write.
   *
   * @throws {Failure} `UNREACHABLE` or `TIMEOUT` if the store is unavailable
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
