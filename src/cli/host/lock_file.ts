/**
 * Locks a file against other processes of this program: takes a lock on the empty file `FILE.lock` next to it. The system
 * releases the lock when the process ends, even if it is killed.
 */
import { Failure, quote, reasonOf } from "../../apikey/failure.ts";
import type { Host } from "./host.ts";

export interface LockOptions {
  /** How long to wait for another process, in milliseconds. */
  readonly timeout: number;
  /** Aborted when the user interrupts the program. */
  readonly interrupted: AbortSignal;
  readonly platform: Host["platform"];
}

/** The time between two attempts, in milliseconds. */
const PAUSE = 50;

/**
 * Waits until this process holds the lock.
 *
 * @returns a function that releases the lock
 * @throws {Failure} `TIMEOUT`; `INTERRUPTED`; `FAILED` if the lock file cannot be created, or if its path is taken by
 * something other than an empty file
 */
export async function lockFile(path: string, options: LockOptions): Promise<() => Promise<void>> {
  const { timeout, interrupted, platform } = options;
  const lock = `${path}.lock`;
  const end = performance.now() + timeout;
  try {
    while (true) {
      // deno-lint-ignore no-await-in-loop -- one attempt at a time
      const file = await tryLock(lock, platform);
      if (file !== undefined) return () => release(file, lock, platform);
      if (interrupted.aborted) throw new Failure("INTERRUPTED", "Interrupted while another process held the lock.");
      if (performance.now() >= end) throw stillLocked(path, lock, timeout);
      // deno-lint-ignore no-await-in-loop -- one attempt at a time
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    const hint = error instanceof Deno.errors.NotFound ? " Create the directory first." : "";
    // The user does not know the lock file unless it exists.
    const problem = await exists(lock) ? `Cannot lock ${quote(lock)}` : `Cannot write ${quote(path)}`;
    throw new Failure("FAILED", `${problem}: ${reasonOf(error)}.${hint}`, { cause: error });
  }
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

async function tryLock(lock: string, platform: Host["platform"]): Promise<Deno.FsFile | undefined> {
  await requireFree(lock);
  const file = await Deno.open(lock, { create: true, write: true, mode: 0o600 });
  try {
    if (await file.tryLock(true) && await isAt(file, lock, platform)) return file;
  } catch (error) {
    file.close();
    throw error;
  }
  file.close();
  return undefined;
}

/** Only an empty file can be a lock file. Opening a pipe would block, and `release` would remove a file of the user. */
async function requireFree(lock: string): Promise<void> {
  try {
    const { isFile, size } = await Deno.lstat(lock);
    if (isFile && size === 0) return;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  throw new Failure(
    "FAILED",
    `Cannot lock ${quote(lock)}: it is not an empty file. Remove it, or choose another file.`,
  );
}

/** Whether a file still has its path. If not, the process that held the lock before has removed the lock file. */
async function isAt(file: Deno.FsFile, path: string, platform: Host["platform"]): Promise<boolean> {
  if (platform === "windows") return true;
  try {
    const [opened, found] = await Promise.all([file.stat(), Deno.lstat(path)]);
    return opened.ino === found.ino && opened.dev === found.dev;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function release(file: Deno.FsFile, lock: string, platform: Host["platform"]): Promise<void> {
  // Windows cannot remove a file while another process waits for its lock, so the lock file stays there.
  if (platform !== "windows" && await isAt(file, lock, platform)) await Deno.remove(lock).catch(() => {});
  file.close();
}

function stillLocked(path: string, lock: string, timeout: number): Failure {
  return new Failure(
    "TIMEOUT",
    `Another process has been changing ${quote(path)} for more than ${timeout / 1000} s: it holds the lock ` +
      `${quote(lock)}. Wait until it ends, or raise --timeout.`,
  );
}
