/**
 * Writes files that may contain secrets. A file is written under a temporary name and then renamed, so that no process
 * reads a partial file. If the program is killed in between, the temporary file remains until the next `login` or `logout`.
 */
import { Failure, quote, reasonOf } from "../../apikey/failure.ts";
import type { Host } from "../host/host.ts";
import { showWaiting } from "../host/show_waiting.ts";
import { type ConfigPath, directoryOf, lockPath } from "./path.ts";

/** A file that is written under a temporary name. */
export interface StagedFile {
  /** Renames the file to its final name and replaces an existing file. */
  commit(): Promise<void>;
  /** Removes the temporary file. Does nothing after `commit`. */
  discard(): Promise<void>;
}

/** The end of the name of a temporary file. */
const TEMPORARY = ".tmp";

/**
 * Writes a file under a temporary name in its directory. Creates missing directories with mode 0700. Call it only while
 * this process holds the lock.
 *
 * @param mode the permission bits of the file; not used on Windows
 * @throws {Failure} `FAILED`
 */
export async function stageFile(path: string, text: string, mode: number, host: Host): Promise<StagedFile> {
  const staged = `${path}${TEMPORARY}`;
  const discard = (): Promise<void> => Deno.remove(staged).catch(() => {});
  const orFail = async <Result>(act: () => Promise<Result>): Promise<Result> => {
    try {
      return await act();
    } catch (error) {
      await discard();
      throw cannotWrite(path, error);
    }
  };
  await orFail(async () => {
    await makeDirectoryOf(path, host);
    await discard();
    await Deno.writeTextFile(staged, text, { createNew: true, mode: 0o600 });
    if (host.platform !== "windows") await Deno.chmod(staged, mode);
    const file = await Deno.open(staged, { write: true });
    await file.sync().finally(() => file.close());
  });
  return { commit: () => orFail(() => Deno.rename(staged, path)), discard };
}

/**
 * Runs an action while this process holds a lock, so that processes change a config file and its keys one after the
 * other. The system releases the lock when the process ends, even if it is killed. First removes temporary files that
 * killed processes have left. The lock file is created if it is missing, and never removed.
 *
 * @throws {Failure} `FAILED` if the file cannot be locked or a temporary file cannot be removed
 */
export async function withLock<Result>(
  config: ConfigPath,
  host: Host,
  action: () => Promise<Result>,
): Promise<Result> {
  const path = lockPath(config);
  let file: Deno.FsFile;
  try {
    await makeDirectoryOf(path, host);
    file = await Deno.open(path, { create: true, write: true, mode: 0o600 });
    await showWaiting(() => `another login or logout that changes ${quote(config.path)}`, host, file.lock(true));
  } catch (error) {
    throw cannotWrite(path, error);
  }
  try {
    await removeTemporaryFiles(config, host);
    return await action();
  } finally {
    file.close();
  }
}

async function removeTemporaryFiles({ path }: ConfigPath, host: Host): Promise<void> {
  const keys = `${directoryOf(path, host)}keys/`;
  const names = await Array.fromAsync(Deno.readDir(keys), ({ name }) => name).catch(() => []);
  const abandoned = names.filter((name) => name.endsWith(`.key${TEMPORARY}`)).map((name) => `${keys}${name}`);
  await Promise.all([`${path}${TEMPORARY}`, ...abandoned].map(removeFile));
}

/**
 * Removes a file.
 *
 * @returns whether the file existed
 * @throws {Failure} `FAILED`
 */
export async function removeFile(path: string): Promise<boolean> {
  try {
    await Deno.remove(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
    throw new Failure("FAILED", `Cannot remove ${quote(path)}: ${reasonOf(error)}.`, { cause: error });
  }
}

async function makeDirectoryOf(path: string, host: Host): Promise<void> {
  const directory = directoryOf(path, host);
  if (directory !== "") await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
}

function cannotWrite(path: string, cause: unknown): Failure {
  return new Failure("FAILED", `Cannot write ${quote(path)}: ${reasonOf(cause)}.`, { cause });
}
