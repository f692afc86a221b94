/** Compiles the executable for tests, if Deno has or can download the runtime base for `deno compile`. */
import { compile } from "../../scripts/compile.ts";

export type Build =
  | { readonly kind: "built"; readonly path: string; readonly remove: () => Promise<void> }
  | { readonly kind: "not built"; readonly reason: string };

/**
 * Compiles into a temporary directory and checks that the executable runs.
 *
 * @throws {Error} if `DENORT_BIN` names a base but the build fails
 */
export async function buildExecutable(): Promise<Build> {
  // One build at a time: Deno's bundler fails if two processes install it at once.
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
    if (!success) throw new Error(`the executable does not start: ${new TextDecoder().decode(stderr)}`);
    return { kind: "built", path, remove };
  } catch (error) {
    await remove();
    const reason = error instanceof Error ? error.message : String(error);
    if (Deno.env.has("DENORT_BIN") || !reason.includes("Setting up base binary")) throw error;
    return { kind: "not built", reason: reason.replaceAll(/\s+/g, " ").slice(0, 300) };
  }
}
