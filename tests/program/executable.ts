/** Compiles the executable for tests, once in each run of `deno test`, into `dist/test/`. */
import { compile } from "../../scripts/compile.ts";

export type Build =
  | { readonly kind: "built"; readonly path: string }
  | { readonly kind: "not built"; readonly reason: string };

const DIRECTORY = `${import.meta.dirname}/../../dist/test`;

/** A variable with the result as JSON. All test files run in one process, so the first one compiles for all. */
const RESULT = "TEST_EXECUTABLE";

/**
 * Compiles the executable and checks that it starts. Until this test file ends, no other run of tests replaces it.
 *
 * @throws {Error} if `DENORT_BIN` names a base but the build fails
 */
export async function buildExecutable(): Promise<Build> {
  await Deno.mkdir(DIRECTORY, { recursive: true });
  const lock = await Deno.open(`${DIRECTORY}/lock`, { create: true, write: true });
  await lock.lock(true);
  const known = Deno.env.get(RESULT);
  const result = known === undefined ? await build() : JSON.parse(known);
  Deno.env.set(RESULT, JSON.stringify(result));
  await lock.unlock();
  await lock.lock(false);
  return result;
}

async function build(): Promise<Build> {
  try {
    const [path = ""] = await compile({ output: DIRECTORY });
    const { success, stderr } = await new Deno.Command(path, { args: ["--version"] }).output();
    if (!success) throw new Error(`the executable does not start: ${new TextDecoder().decode(stderr)}`);
    return { kind: "built", path };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (Deno.env.has("DENORT_BIN") || !reason.includes("Setting up base binary")) throw error;
    return { kind: "not built", reason: reason.replaceAll(/\s+/g, " ").slice(0, 300) };
  }
}
