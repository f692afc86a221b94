/** Reads the commit that is checked out in a directory. */

export interface Commit {
  /** The first 12 hexadecimal digits of the hash. `-dirty` follows if tracked files differ from the commit. */
  readonly id: string;
  /** The commit time. */
  readonly time: Date;
}

/** @returns `undefined` if Git is not installed, or if the directory is not the top level of a repository */
export async function readCommit(directory: string): Promise<Commit | undefined> {
  const git = (...args: readonly string[]): Promise<string | undefined> => runGit(["-C", directory, ...args]);
  if (await git("rev-parse", "--show-cdup") !== "") return undefined;
  const [log = "", status] = await Promise.all([
    git("log", "--max-count=1", "--format=%H %ct"),
    git("--no-optional-locks", "status", "--porcelain", "--untracked-files=no"),
  ]);
  const [hash = "", seconds] = log.split(" ");
  return { id: `${hash.slice(0, 12)}${status === "" ? "" : "-dirty"}`, time: new Date(Number(seconds) * 1000) };
}

async function runGit(args: readonly string[]): Promise<string | undefined> {
  try {
    const { success, stdout } = await new Deno.Command("git", {
      args: [...args],
      stdin: "null",
      stderr: "null",
    }).output();
    return success ? new TextDecoder().decode(stdout).trim() : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
