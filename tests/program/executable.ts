/** The compiled executable for tests, where a runtime base for `deno compile` is to be had. */
import { compile } from "../../scripts/compile.ts";

export type Build =
  | { readonly kind: "built"; readonly path: string; readonly remove: () => Promise<void> }
  | { readonly kind: "not built"; readonly reason: string };

/**
 * Compiles into a directory of its own and sees that what came out runs.
 *
 * @throws {Error} when a base is at hand, in `DENORT_BIN`, and yet there is no executable that runs
 */
export async function buildExecutable(): Promise<Build> {
  // One after the other: Deno's first use of its bundler fails when two put it in its place at once.
  const lock = await Deno.open(`${import.meta.dirname}/executable.ts`);
  try {
    await lock.lock(true);
    return await build();
  } finally {
    lock.close();
  }
}

async function build(): Promise<Build> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-executable-" });
  const remove = (): Promise<void> => Deno.remove(directory, { recursive: true });
  try {
    const [path = ""] = await compile({ output: directory });
    const { success, stderr } = await new Deno.Command(path, { args: ["--version"] }).output();
    if (!success) throw new Error(`the executable does not run: ${new TextDecoder().decode(stderr)}`);
    return { kind: "built", path, remove };
  } catch (error) {
    await remove();
    const reason = error instanceof Error ? error.message : String(error);
    if (Deno.env.has("DENORT_BIN") || !reason.includes("Setting up base binary")) throw error;
    return { kind: "not built", reason: reason.replaceAll(/\s+/g, " ").slice(0, 300) };
  }
}
