/**
 * Compiles the executable for each target and prints the paths.
 *
 *   deno task compile [--target TRIPLE]... [--output DIR] [--base deno|npm]
 *
 * The first line, on standard error, says where the runtime base comes from. `deno compile` adds the program to this
 * base.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { bundle, compileBundle, executableName, PROJECT, readTarget, type Target } from "./bundle.ts";
import { describe, findRuntimeBase, readBaseSource, type RuntimeBase } from "./runtime_base.ts";

export interface CompileOptions {
  /** The module to compile. @default the program */
  readonly main?: string;
  /** @default this machine */
  readonly targets?: readonly Target[];
  /** @default the one that `findRuntimeBase` finds */
  readonly base?: RuntimeBase;
  /** The directory for the executables. */
  readonly output: string;
  /** The beginning of the file name. `-` and the target follow. @default "service-api" */
  readonly name?: string;
}

/**
 * Compiles the program for each target. If a compilation fails, replaces no executable.
 *
 * @returns the paths of the executables
 * @throws {Error} with Deno's message if bundling or compiling fails
 */
export async function compile(options: CompileOptions): Promise<readonly string[]> {
  const { main, targets = [readTarget(Deno.build.target)], output, name = "service-api" } = options;
  const { base = await findRuntimeBase(targets) } = options;
  const workspace = await Deno.makeTempDir({ prefix: "service-api-compile-" });
  try {
    const bundled = await bundle(workspace, main);
    await Deno.mkdir(output, { recursive: true });
    // Compiles to another directory, because a failed `deno compile` deletes an older executable. The directory is inside
    // the output directory, because files can be renamed only within one file system.
    const staging = await Deno.makeTempDir({ dir: output, prefix: ".compile-" });
    try {
      const files = targets.map((target) => executableName(`${name}-${target}`, target));
      for (const [i, target] of targets.entries()) {
        // deno-lint-ignore no-await-in-loop -- one at a time: each uses hundreds of megabytes
        await compileBundle(bundled, target, `${staging}/${files[i]}`, base);
      }
      await Promise.all(files.map((file) => Deno.rename(`${staging}/${file}`, `${output}/${file}`)));
      return files.map((file) => `${output}/${file}`);
    } finally {
      await Deno.remove(staging, { recursive: true });
    }
  } finally {
    await Deno.remove(workspace, { recursive: true });
  }
}

async function main(): Promise<void> {
  const { values: { base: source, output, target } } = parseArgs({
    options: {
      base: { type: "string" },
      target: { type: "string", multiple: true, default: [Deno.build.target] },
      output: { type: "string", default: resolve(PROJECT, "dist") },
    },
  });
  const targets = [...new Set(target.map(readTarget))];
  const base = await findRuntimeBase(targets, source === undefined ? undefined : readBaseSource(source));
  console.error(describe(base));
  for (const path of await compile({ targets, base, output })) console.log(path);
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    Deno.exit(1);
  }
}
