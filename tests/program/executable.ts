/** Compiles the executable for tests into `dist/test/`. */
import { readTarget, type Target } from "../../scripts/bundle.ts";
import { command } from "../execute.ts";
import { compile } from "../../scripts/compile.ts";

export type Build =
  | { readonly kind: "built"; readonly path: string }
  | { readonly kind: "not built"; readonly reason: string };

const DIRECTORY = `${import.meta.dirname}/../../dist/test`;

/**
 * Compiles the executable for a target, once in each run of `deno test`. If the target is this machine, also checks
 * that the executable starts.
 *
 * @returns `not built` if no runtime base can be downloaded, or if the target needs `TEST_TARGETS=all`
 * @throws {Error} if the build fails for any other reason
 */
export async function buildExecutable(target = Deno.build.target): Promise<Build> {
  if (target !== Deno.build.target && Deno.env.get("TEST_TARGETS") !== "all") {
    return { kind: "not built", reason: `set TEST_TARGETS=all to build for ${target}` };
  }
  await Deno.mkdir(DIRECTORY, { recursive: true });
  const lock = await Deno.open(`${DIRECTORY}/lock`, { create: true, write: true });
  try {
    await lock.lock(true);
    // All test files run in one process and share its variables: the first one compiles for all.
    const variable = `TEST_EXECUTABLE_${target}`;
    const known = Deno.env.get(variable);
    if (known !== undefined) return JSON.parse(known);
    const result = await build(readTarget(target));
    Deno.env.set(variable, JSON.stringify(result));
    return result;
  } finally {
    lock.close();
  }
}

async function build(target: Target): Promise<Build> {
  try {
    const [path = ""] = await compile({ targets: [target], output: DIRECTORY });
    if (target === Deno.build.target) await command(path, ["--version"]);
    return { kind: "built", path };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (!reason.includes("npm could not download")) throw error;
    return { kind: "not built", reason: reason.replaceAll(/\s+/g, " ").slice(0, 300) };
  }
}
