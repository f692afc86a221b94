/** Compiles the executable for tests into `dist/test/`. */
import { readTarget, type Target, TARGETS } from "../../scripts/bundle.ts";
import { command } from "../execute.ts";
import { compile } from "../../scripts/compile.ts";
import { isOnNpm } from "../../scripts/runtime_base.ts";

export type Build =
  | { readonly kind: "built"; readonly path: string }
  | { readonly kind: "not built"; readonly reason: string };

/** The targets other than this machine for which the tests need executables. */
const OTHER_TARGETS = TARGETS.filter((target) => target !== Deno.build.target && isOnNpm(target));

const DIRECTORY = `${import.meta.dirname}/../../dist/test`;

/**
 * Compiles the executable for a target, once in each run of `deno test`. If the target is this machine's, checks that
 * the executable starts. For other targets, compiles only if `TEST_TARGETS=all` is set. The first of them compiles for
 * all, because they share the bundle of the program.
 *
 * @returns the path; or a reason if `TEST_TARGETS` is not set, or if npm could not download the runtime base
 * @throws {Error} if the build fails for another reason
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
    const known = (): string | undefined => Deno.env.get(`TEST_EXECUTABLE_${target}`);
    if (known() === undefined) {
      const targets = target === Deno.build.target ? [readTarget(target)] : OTHER_TARGETS;
      const builds = await build(targets);
      for (const [i, other] of targets.entries()) Deno.env.set(`TEST_EXECUTABLE_${other}`, JSON.stringify(builds[i]));
    }
    return JSON.parse(known() ?? "");
  } finally {
    lock.close();
  }
}

async function build(targets: readonly Target[]): Promise<readonly Build[]> {
  try {
    const paths = await compile({ targets, output: DIRECTORY });
    if (targets.includes(readTarget(Deno.build.target))) await command(paths[0] ?? "", ["--version"]);
    return paths.map((path) => ({ kind: "built", path }));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (!reason.includes("npm could not download")) throw error;
    return targets.map(() => ({ kind: "not built", reason: reason.replaceAll(/\s+/g, " ").slice(0, 300) }));
  }
}
