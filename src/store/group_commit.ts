/** Combines concurrent writes to an SQLite database into one transaction, because every transaction waits for the disk. */
import type { DatabaseSync } from "node:sqlite";
import { isBusy, randomDelay, storeFailure, waitFailure, type WaitOptions } from "./sqlite_database.ts";

interface Write {
  /** Makes the change, or throws. Returns a function that resolves the caller's promise. */
  readonly run: () => () => void;
  readonly reject: (error: unknown) => void;
  /** When the caller requested this write, by `performance.now`. */
  readonly since: number;
}

/**
 * Combines writes. If one write fails, the others still succeed, unless the failure ends the whole transaction. The
 * promise of a write resolves when the write is on disk.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #waitOptions: WaitOptions;
  readonly #beforeCommit: (() => Promise<void>) | undefined;
  #pending: Write[] = [];
  #isWriting = false;

  /** @param beforeCommit awaited before a transaction begins; writes that arrive meanwhile join that transaction */
  constructor(database: DatabaseSync, path: string, waitOptions: WaitOptions, beforeCommit?: () => Promise<void>) {
    this.#database = database;
    this.#path = path;
    this.#waitOptions = waitOptions;
    this.#beforeCommit = beforeCommit;
  }

  /**
   * Runs `act` in a transaction. If `act` throws, its changes are rolled back.
   *
   * @throws {Failure} `TIMEOUT` if another process keeps the database locked
   * @throws {Failure} `INTERRUPTED` if the signal is aborted while another process keeps the database locked
   * @throws {Failure} `UNREACHABLE` for any other error of SQLite
   * @throws what `act` throws
   */
  write<Result>(act: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      const run = (): () => void => {
        const result = act();
        return () => resolve(result);
      };
      this.#pending.push({ run, reject, since: performance.now() });
      if (!this.#isWriting) void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    await this.#beforeCommit?.();
    while (this.#pending.length > 0) {
      const busy = this.#writePending();
      if (busy === undefined) continue;
      this.#pending = this.#pending.filter(({ reject, since }) => {
        const failure = waitFailure(busy, this.#path, this.#waitOptions, since);
        if (failure !== undefined) reject(failure);
        return failure === undefined;
      });
      // deno-lint-ignore no-await-in-loop -- waits for another process to release its lock
      if (this.#pending.length > 0) await randomDelay();
    }
    this.#isWriting = false;
  }

  /**
   * Commits all pending writes in one transaction.
   *
   * @returns SQLite's error if another process has locked the database; the writes then stay pending. Otherwise
   * `undefined`
   */
  #writePending(): Error | undefined {
    const group = this.#pending;
    try {
      this.#database.exec("BEGIN IMMEDIATE");
    } catch (error) {
      if (isBusy(error)) return error;
      this.#pending = [];
      this.#rejectAll(group, error);
      return undefined;
    }
    this.#pending = [];
    try {
      const settlers = group.map((write) => this.#writeOne(write));
      this.#database.exec("COMMIT");
      for (const settle of settlers) settle();
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      this.#rejectAll(group, error);
    }
    return undefined;
  }

  /**
   * Makes one change within the transaction, and undoes it if it fails.
   *
   * @returns a function that resolves or rejects the caller's promise
   * @throws an error that ended the whole transaction, for example because the disk is full
   */
  #writeOne({ run, reject }: Write): () => void {
    this.#database.exec("SAVEPOINT one");
    try {
      const settle = run();
      this.#database.exec("RELEASE one");
      return settle;
    } catch (error) {
      if (!this.#database.isTransaction) throw error;
      this.#database.exec("ROLLBACK TO one; RELEASE one");
      return () => reject(storeFailure(this.#path, error));
    }
  }

  #rejectAll(group: readonly Write[], error: unknown): void {
    const failure = storeFailure(this.#path, error);
    for (const { reject } of group) reject(failure);
  }
}
