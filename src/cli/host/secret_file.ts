/**
 * The file of `--secret-file`. The temporary file exists before the request is sent, so that a missing directory or
 * permission is found before a secret is issued. The secret is written to the temporary file, which then replaces the
 * file in one step. The program loads this module on demand.
 */
import { Failure, quote, reasonOf } from "../../apikey/failure.ts";
import type { Host } from "./host.ts";
import { lockFile, type LockOptions } from "./lock_file.ts";

/** A file that can receive a secret. */
export interface SecretFile {
  /** The path as typed. */
  readonly path: string;
  /**
   * Writes the secret and a line feed, and puts the file in its place. Its mode is 0600. If it replaces a file, it has
   * the owner and group of that file.
   *
   * @throws {Failure} `FAILED`; `USAGE` if the path has been taken since the file was opened
   */
  write(secret: string): Promise<void>;
  /** Removes the temporary file. Does nothing after a successful `write`. */
  discard(): Promise<void>;
}

/** The end of the name of a temporary file: a full stop, 16 hexadecimal digits and `.tmp`. */
const TEMPORARY = /\.[0-9a-f]{16}\.tmp$/;

/** Bytes that are written before the request is sent, so that a full disk is found before a secret is issued. */
const RESERVED_BYTES = 512;

/**
 * Like {@linkcode openSecretFile}, but first waits until no other process of this program changes the file. `discard`
 * also lets other processes change it again, so call it even after `write`.
 *
 * @throws {Failure} any failure of {@linkcode openSecretFile} and `lockFile`
 */
export async function lockSecretFile(
  path: string,
  { overwrite }: { readonly overwrite: boolean },
  options: LockOptions,
): Promise<SecretFile> {
  await findReplaced(path, overwrite);
  const release = await lockFile(path, options);
  try {
    const file = await openSecretFile(path, { overwrite }, options);
    return { ...file, discard: () => file.discard().finally(release) };
  } catch (error) {
    await release();
    throw error;
  }
}

const WRONG_PATH = ["ENOENT", "ENOTDIR", "EACCES", "EPERM", "EROFS"];

/** Returns a usage error that names the flag if a file cannot be written because of its directory. */
export function toFlagFailure(error: unknown): unknown {
  if (!(error instanceof Failure) || error.code !== "FAILED" || !(error.cause instanceof Error)) return error;
  const { cause, message } = error;
  if (!("code" in cause) || !WRONG_PATH.some((code) => code === cause.code)) return error;
  return new Failure("USAGE", `--secret-file: ${message.replace(/^C/, "c")}`, { cause });
}

/**
 * Checks the path and creates the temporary file, with mode 0600, in the same directory.
 *
 * @param path the value of `--secret-file`
 * @param overwrite whether an existing file may be replaced
 * @throws {Failure} `USAGE` if the file exists and `overwrite` is not set, or if the path names anything other than a
 * regular file; `FAILED` if the system refuses to create the file or to set its owner
 */
export async function openSecretFile(
  path: string,
  { overwrite }: { readonly overwrite: boolean },
  { platform }: Pick<Host, "platform">,
): Promise<SecretFile> {
  const replaced = await findReplaced(path, overwrite);
  const temporary = `${path}.${crypto.getRandomValues(new Uint8Array(8)).toHex()}.tmp`;
  let file: Deno.FsFile | undefined;
  const close = (): void => {
    file?.close();
    file = undefined;
  };
  const discard = async (): Promise<void> => {
    close();
    await Deno.remove(temporary).catch(() => {});
  };
  try {
    file = await Deno.open(temporary, { write: true, createNew: true, mode: 0o600 });
    await writeAll(file, new Uint8Array(RESERVED_BYTES));
    if (replaced !== undefined && platform !== "windows") await keepOwner(temporary, replaced, path);
  } catch (error) {
    await discard();
    throw failureFor(path, error);
  }
  return {
    path,
    discard,
    write: async (secret) => {
      try {
        if (file === undefined) throw new Error("The temporary file was removed");
        const bytes = new TextEncoder().encode(`${secret}\n`);
        await file.seek(0, Deno.SeekMode.Start);
        await writeAll(file, bytes);
        await file.truncate(bytes.length);
        await file.sync();
        close();
        await findReplaced(path, overwrite);
        await Deno.rename(temporary, path);
      } catch (error) {
        await discard();
        throw failureFor(path, error);
      }
    },
  };
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  // deno-lint-ignore no-await-in-loop -- each write continues where the last one stopped
  for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await file.write(rest));
}

async function keepOwner(temporary: string, { uid, gid }: Deno.FileInfo, path: string): Promise<void> {
  try {
    await Deno.chown(temporary, uid, gid);
  } catch (cause) {
    const message = `Cannot replace ${quote(path)} and keep its owner and group: ${
      reasonOf(cause)
    }. Choose another file.`;
    throw new Failure("FAILED", message, { cause });
  }
}

/**
 * Returns the file at the path, or `undefined` if there is none.
 *
 * @throws {Failure} `USAGE`, `FAILED`
 */
async function findReplaced(path: string, overwrite: boolean): Promise<Deno.FileInfo | undefined> {
  if (path === "") throw new Failure("USAGE", "--secret-file is empty. Pass the path of a file.");
  if (path === "-") {
    throw new Failure("USAGE", "--secret-file needs a file. Without this flag, the secret goes to standard output.");
  }
  let found: Deno.FileInfo;
  try {
    found = await Deno.lstat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound && !/[\\/]$/.test(path)) return undefined;
    throw failureFor(path, error);
  }
  if (!found.isFile) {
    const kind = found.isSymlink ? "a symbolic link" : found.isDirectory ? "a directory" : "a device, pipe or socket";
    throw new Failure("USAGE", `--secret-file: ${quote(path)} is ${kind}. Pass the path of a regular file.`);
  }
  if (overwrite) return found;
  throw new Failure(
    "USAGE",
    `--secret-file: ${quote(path)} exists. Add --overwrite to replace it, or choose another file. With ` +
      "apikey --create, --overwrite also replaces a key with the same name and revokes its secret. In a script that " +
      "runs again and again, use service-api apikey ensure.",
  );
}

function failureFor(path: string, cause: unknown): Failure {
  if (cause instanceof Failure) return cause;
  return new Failure("FAILED", `Cannot write ${quote(path)}: ${reasonOf(cause)}.`, { cause });
}

/**
 * Removes the temporary files that killed processes have left next to these files. Call it only while no other process can
 * be writing the files.
 *
 * @throws {Failure} `FAILED`
 */
export async function removeTemporaryFiles(paths: readonly string[]): Promise<void> {
  const byDirectory = Map.groupBy(paths, (path) => /^.*[\\/]/s.exec(path)?.[0] ?? "");
  await Promise.all([...byDirectory].map(async ([directory, inside]) => {
    const names = new Set(inside.map((path) => path.slice(directory.length)));
    try {
      for await (const { name } of Deno.readDir(directory === "" ? "." : directory)) {
        if (TEMPORARY.test(name) && names.has(name.replace(TEMPORARY, ""))) await Deno.remove(`${directory}${name}`);
      }
    } catch (error) {
      throw failureFor(directory, error);
    }
  }));
}
