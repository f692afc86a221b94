/**
 * Makes the executable: bundles the program, then puts the bundle on a Deno runtime base, with the permissions of
 * the `start` task and no others.
 *
 *   deno task compile [--target TRIPLE]... [--all] [--output DIR]
 *
 * `DENORT_BIN` names a runtime base to use instead of the one that Deno downloads. `DENO_COMPILE` names the Deno
 * of the version of that base, where it is not the one that runs this script: the two have to match.
 */
import { parseArgs } from "node:util";
import deno from "../deno.json" with { type: "json" };

/** Every target of `deno compile`. */
const TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
  "aarch64-pc-windows-msvc",
] as const;

const COMPILE_FLAGS = [
  "--quiet",
  "--no-config",
  "--no-check",
  "--no-prompt",
  // The cache would lie in the directory for temporary files under a name that anybody can foresee, and Deno runs
  // what it finds there: any user of the machine could put code into it.
  "--no-code-cache",
  // A young generation of 8 MB to begin with: most invocations then end before V8 collects any garbage (1 to 3 ms).
  "--v8-flags=--min-semi-space-size=8",
];

const PROJECT = `${import.meta.dirname}/..`;

export interface CompileOptions {
  /** The module to compile; the program itself unless it is given. */
  readonly main?: string;
  readonly targets: readonly string[];
  /** The directory that the executables go to. */
  readonly output: string;
  /** What the executables are called before `-<target>`. */
  readonly name?: string;
}

/**
 * Compiles for each of the targets.
 *
 * @returns the paths of the executables
 * @throws {Error} with Deno's own words when bundling or compiling fails
 */
export async function compile(options: CompileOptions): Promise<readonly string[]> {
  const { main = `${PROJECT}/main.ts`, targets, output, name = "service-api" } = options;
  const compiler = Deno.env.get("DENO_COMPILE") ?? Deno.execPath();
  const permissions = deno.tasks.start.command.split(" ").filter((word) => word.startsWith("--allow-"));
  const workspace = await Deno.makeTempDir({ prefix: "service-api-compile-" });
  try {
    await bundle(main, workspace);
    await Deno.mkdir(output, { recursive: true });
    const executables: string[] = [];
    for (const target of targets) {
      const executable = `${output}/${name}-${target}${target.includes("windows") ? ".exe" : ""}`;
      const flags = [...COMPILE_FLAGS, ...permissions, "--import-map", `${workspace}/import_map.json`];
      const entry = `${workspace}/${main.replace(/^.*\//, "").replace(/ts$/, "js")}`;
      // deno-lint-ignore no-await-in-loop -- one at a time: each takes a processor and hundreds of megabytes
      await execute(compiler, ["compile", ...flags, "--target", target, "--output", executable, entry]);
      executables.push(executable);
    }
    return executables;
  } finally {
    await Deno.remove(workspace, { recursive: true });
  }
}

/**
 * Bundles into a directory: the program, and each part that it loads on demand apart from it, which are the names with
 * `#` in the import map. A part has all that it needs in it. Were they one bundle with code splitting, what they have
 * in common would lie in a dozen small files, each of which takes its time to load; and a remote create would load the
 * half of `graphql` that only servers need.
 *
 * The minifier loses the end of a `using` declaration (evanw/esbuild issue 4482): the program has none.
 */
async function bundle(main: string, directory: string): Promise<void> {
  const parts = Object.entries(deno.imports).filter(([name]) => name.startsWith("#"));
  const imports: Record<string, string> = {};
  // Each by its name: packages have imports with # of their own.
  const externals = parts.flatMap(([name]) => ["--external", name]);
  const flags = ["bundle", "--quiet", "--minify", "--code-splitting", ...externals];
  await execute(Deno.execPath(), [...flags, "--outdir", directory, main]);
  for (const [name, module] of parts) {
    const folder = name.slice(1);
    // deno-lint-ignore no-await-in-loop -- one at a time: there are two processors
    await execute(Deno.execPath(), [...flags, "--outdir", `${directory}/${folder}`, module]);
    imports[name] = `./${folder}/${module.replace(/^.*\//, "").replace(/ts$/, "js")}`;
  }
  await giveRequire(directory);
  await Deno.writeTextFile(`${directory}/import_map.json`, JSON.stringify({ imports }));
}

/** CommonJS packages ask for Node's modules with `require`, which bundles of Deno before 2.8 do not have. */
async function giveRequire(directory: string): Promise<void> {
  const banner = 'import{createRequire as requireFor}from"node:module";const require=requireFor(import.meta.url);\n';
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = `${directory}/${name}`;
    if (isDirectory) await giveRequire(path);
    if (!name.endsWith(".js")) continue;
    const code = await Deno.readTextFile(path);
    if (code.includes("Dynamic require of") && !code.includes("createRequire")) {
      await Deno.writeTextFile(path, `${banner}${code}`);
    }
  }
}

async function execute(program: string, args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, {
    args: [...args],
    cwd: PROJECT,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`deno ${args[0]} failed: ${new TextDecoder().decode(stderr).trim()}`);
}

/** Writes the checksums of files beside them, as `sha256sum --check` reads them. */
async function writeChecksums(paths: readonly string[], output: string): Promise<void> {
  const lines = await Promise.all(paths.map(async (path) => {
    const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(path));
    return `${new Uint8Array(digest).toHex()}  ${path.slice(output.length + 1)}\n`;
  }));
  await Deno.writeTextFile(`${output}/SHA256SUMS`, lines.join(""));
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      target: { type: "string", multiple: true },
      all: { type: "boolean", default: false },
      output: { type: "string", default: `${PROJECT}/dist` },
    },
  });
  const { all, output, target = [Deno.build.target] } = values;
  const unknown = target.find((triple) => !TARGETS.some((known) => known === triple));
  if (unknown !== undefined) throw new Error(`${unknown} is not a target; the targets are ${TARGETS.join(", ")}`);
  const targets = [...new Set<string>(all ? TARGETS : target)];
  if (Deno.env.has("DENORT_BIN") && targets.join() !== Deno.build.target) {
    throw new Error(`DENORT_BIN is a base for ${Deno.build.target}; unset it to compile for other targets`);
  }
  const executables = await compile({ targets, output });
  await writeChecksums(executables, output);
  for (const path of executables) console.log(path);
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    Deno.exit(1);
  }
}
