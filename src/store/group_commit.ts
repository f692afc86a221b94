/**
 * Writes to an SQLite database that are asked for at about the same time share one transaction, and with it the one
 * wait for the disk that a transaction costs. Each of them takes place wholly or not at all, and is told so only
 * when it is on disk.
 */
import type { DatabaseSync } from "node:sqlite";
import { errorAfterWaiting, isBusy, pause, storeFailure, type WaitOptions } from "./sqlite_database.ts";

interface Write {
  /** Changes everything or throws, and returns what tells the caller of the result. */
  readonly act: () => () => void;
  readonly reject: (error: unknown) => void;
  /** When the waiting began, in milliseconds. */
  readonly since: number;
}

export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #waitOptions: WaitOptions;
  readonly #beforeCommit: (() => Promise<void>) | undefined;
  #waiting: Write[] = [];
  #isWriting = false;

  /** @param beforeCommit waited for before a transaction begins: what is asked for meanwhile shares it */
  constructor(database: DatabaseSync, path: string, waitOptions: WaitOptions, beforeCommit?: () => Promise<void>) {
    this.#database = database;
    this.#path = path;
    this.#waitOptions = waitOptions;
    this.#beforeCommit = beforeCommit;
  }

  /**
   * Does `act`, which changes everything or, when it throws, nothing.
   *
   * @throws {Failure} `TIMEOUT` or `INTERRUPTED` when another process holds the store for too long; what `act` throws
   */
  write<Result>(act: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        act: () => {
          const result = act();
          return () => resolve(result);
        },
        reject,
        since: Date.now(),
      });
      if (!this.#isWriting) void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    await this.#beforeCommit?.();
    while (this.#waiting.length > 0) {
      const busy = this.#writeOnce();
      if (busy === undefined) continue;
      const late = new Map(
        this.#waiting.map((write) => [write, errorAfterWaiting(busy, this.#path, this.#waitOptions, write.since)]),
      );
      this.#waiting = this.#waiting.filter((write) => late.get(write) === undefined);
      for (const [write, error] of late) if (error !== undefined) write.reject(error);
      // deno-lint-ignore no-await-in-loop -- it waits for its turn
      if (this.#waiting.length > 0) await pause();
    }
    this.#isWriting = false;
  }

  /** Writes everything that waits, unless another process holds the store: then it returns SQLite's error. */
  #writeOnce(): Error | undefined {
    const group = this.#waiting;
    try {
      this.#database.exec("BEGIN IMMEDIATE");
    } catch (error) {
      if (isBusy(error)) return error;
      this.#waiting = [];
      this.#rejectAll(group, error);
      return undefined;
    }
    this.#waiting = [];
    try {
      const settle = group.map((write) => this.#writeOne(write));
      this.#database.exec("COMMIT");
      for (const tell of settle) tell();
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      this.#rejectAll(group, error);
    }
    return undefined;
  }

  /** @throws when the transaction is gone, as it is when the disk is full */
  #writeOne({ act, reject }: Write): () => void {
    this.#database.exec("SAVEPOINT one");
    try {
      const settle = act();
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
