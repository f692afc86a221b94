/** Files that nobody else may read, in whole or not at all: written beside their place, then moved there. */
import { Failure, quote, reasonOf } from "../../apikey/failure.ts";
import type { Host } from "../host/host.ts";
import { directoryOf } from "./path.ts";

/** A file that is written and not yet in its place. */
export interface StagedFile {
  /** Moves it to its place, where it replaces what is there. */
  commit(): Promise<void>;
  /** Removes it, unless it is in its place. */
  discard(): Promise<void>;
}

/**
 * Writes a file beside its place, and the directories that it needs, for the user alone.
 *
 * @param mode what may be done with it once it is in its place
 * @throws {Failure} `FAILED`
 */
export async function stageFile(path: string, text: string, mode: number, host: Host): Promise<StagedFile> {
  const staged = `${path}.${crypto.randomUUID()}.tmp`;
  const discard = (): Promise<void> => Deno.remove(staged).catch(() => {});
  const orFail = async <Result>(act: () => Promise<Result>): Promise<Result> => {
    try {
      return await act();
    } catch (error) {
      await discard();
      throw new Failure("FAILED", `Cannot write ${quote(path)}: ${reasonOf(error)}.`, { cause: error });
    }
  };
  await orFail(async () => {
    const directory = directoryOf(path, host);
    if (directory !== "") await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
    await Deno.writeTextFile(staged, text, { createNew: true, mode: 0o600 });
    if (host.platform !== "windows") await Deno.chmod(staged, mode);
    const file = await Deno.open(staged, { write: true });
    await file.sync().finally(() => file.close());
  });
  return { commit: () => orFail(() => Deno.rename(staged, path)), discard };
}

/**
 * Does something while no other process that asks for the same does: changes of one config file and its keys are made
 * one after the other. The lock is gone with its process, however that ends.
 *
 * @param path of the file that the lock is; it stays
 * @throws {Failure} `FAILED` when it cannot be had
 */
export async function withLock<Result>(path: string, host: Host, act: () => Promise<Result>): Promise<Result> {
  let file: Deno.FsFile;
  try {
    const directory = directoryOf(path, host);
    if (directory !== "") await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
    file = await Deno.open(path, { create: true, write: true, mode: 0o600 });
    await file.lock(true);
  } catch (error) {
    throw new Failure("FAILED", `Cannot write ${quote(path)}: ${reasonOf(error)}.`, { cause: error });
  }
  try {
    return await act();
  } finally {
    file.close();
  }
}

/**
 * Removes a file.
 *
 * @returns whether there was one
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
