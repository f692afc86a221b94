/**
 * Bundles the program and compiles bundles into executables. The same commit, Deno and operating system produce the same
 * bytes.
 */
import { fileURLToPath, pathToFileURL } from "node:url";
import deno from "../deno.json" with { type: "json" };
import { type BundleContents, filesIn, readBundleContents } from "./bundle_contents.ts";
import { type Commit, readCommit } from "./commit.ts";
import type { RuntimeBase } from "./runtime_base.ts";

/** The targets of `deno compile`. */
export const TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
  "aarch64-pc-windows-msvc",
] as const;

export type Target = typeof TARGETS[number];

/** @throws {Error} if the triple is not a target */
export function readTarget(triple: string): Target {
  const found = TARGETS.find((target) => target === triple);
  if (found !== undefined) return found;
  throw new Error(`${triple} is not a target. The targets are ${TARGETS.join(", ")}.`);
}

/** The import that is different for each target. */
const VERSION = "#version";

/** The file name of an executable on a target. */
export function executableName(name: string, target: Target): string {
  return target.includes("windows") ? `${name}.exe` : name;
}

const COMPILE_FLAGS = [
  "--quiet",
  "--no-config",
  "--no-check",
  "--no-prompt",
  // Deno would run cached code from a predictable path in the temporary directory, where any user could place code.
  "--no-code-cache",
  // The young generation begins with 2 MB, because memory that a short invocation touches for the first time costs more
  // than a garbage collection, and because `serve` is 8 % faster if it fits into the cache of the processor. With at most
  // 16 MB, long lists and `serve` need less memory and no more time. `apikey list` collects garbage itself.
  // Deno finds the position of every new error in its module. V8 would compile the whole module a second time for that,
  // unless it stores all positions when it compiles the module. graphql creates an error when it is loaded (5 to 9 ms).
  "--v8-flags=--min-semi-space-size=2,--max-semi-space-size=16,--expose-gc,--no-enable-lazy-source-positions",
];

export const PROJECT = `${import.meta.dirname}/..`;

export interface Bundle {
  readonly directory: string;
  /** The name of the file to compile, in that directory. */
  readonly entry: string;
  readonly contents: BundleContents;
  readonly commit: Commit | undefined;
  /** The time of the commit. Without a commit, the earliest time that a zip file can have in every time zone. */
  readonly time: Date;
}

/** The bundle of `src/apikey`. All other bundles import it, so that its modules are loaded once. */
const SHARED = "#apikey";

/** The empty module that replaces the modules of `src/apikey` while the other bundles are built. */
const SHARED_STAND_IN = "shared_stand_in.js";

/**
 * Bundles the program and, separately, each part that it loads on demand (`#…` in the import map) into a directory.
 * The bundles share only `src/apikey`. If they shared more, code splitting would put the shared code into a dozen small
 * files, which are slow to load.
 *
 * The minifier drops the disposal of `using` declarations (evanw/esbuild issue 4482), so the program has none.
 *
 * @throws {Error} with Deno's message if bundling fails
 */
export async function bundle(directory: string, main = `${PROJECT}/main.ts`): Promise<Bundle> {
  const parts = Object.entries(deno.imports).filter(([name]) => name.startsWith("#") && name !== VERSION);
  const imports: Record<string, string> = { [VERSION]: "./version.js", [SHARED]: "./apikey/shared.js" };
  const workspace = await Deno.makeTempDir({ prefix: "service-api-bundle-" });
  try {
    const config = await writeConfig(workspace);
    // Names each part instead of `#*`, because packages have `#` imports too.
    const external = [VERSION, ...parts.map(([name]) => name), `${workspace}/${SHARED_STAND_IN}`];
    await run([], `${directory}/apikey`, `${workspace}/shared.ts`);
    await run(["--config", config, ...externals(external)], directory, main);
    for (const [name, module] of parts) {
      const folder = name.slice(1);
      const more = name === "#connection" ? [...external, "graphql"] : external;
      // deno-lint-ignore no-await-in-loop -- one at a time: each uses all processors
      await run(["--config", config, ...externals(more)], `${directory}/${folder}`, `${PROJECT}/${module}`);
      imports[name] = `./${folder}/${module.replace(/^.*\//, "").replace(/ts$/, "js")}`;
    }
    const contents = await readBundleContents(directory);
    for await (const path of filesIn(directory)) {
      if (!path.endsWith(".js")) continue;
      const code = await Deno.readTextFile(path);
      await Deno.writeTextFile(path, code.replaceAll(`${workspace}/${SHARED_STAND_IN}`, SHARED));
    }
    await numberChunks(directory);
    await defineRequire(directory);
    imports["graphql"] = "./graphql.js";
    await Deno.writeTextFile(`${directory}/graphql.js`, NO_GRAPHQL);
    await Deno.writeTextFile(`${directory}/import_map.json`, JSON.stringify({ imports }));
    const entry = main.replace(/^.*\//, "").replace(/ts$/, "js");
    const commit = await readCommit(PROJECT);
    return { directory, entry, contents, commit, time: commit?.time ?? new Date("1980-01-02") };
  } finally {
    await Deno.remove(workspace, { recursive: true });
  }
}

async function run(flags: readonly string[], directory: string, module: string): Promise<void> {
  const output = ["--minify", "--code-splitting", "--sourcemap=external", "--outdir", directory];
  await execute(Deno.execPath(), ["bundle", "--quiet", ...flags, ...output, module]);
}

function externals(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => ["--external", name]);
}

/**
 * Writes the entry module of the shared bundle, and the Deno configuration for the other bundles. The configuration
 * replaces the modules of `src/apikey` with the stand-in.
 *
 * @returns the path of the configuration
 */
async function writeConfig(workspace: string): Promise<string> {
  const names = await Array.fromAsync(Deno.readDir(`${PROJECT}/src/apikey`), ({ name }) => name);
  const shared = names.toSorted().map((name) => import.meta.resolve(`../src/apikey/${name}`));
  const standIn = pathToFileURL(`${workspace}/${SHARED_STAND_IN}`).href;
  const own = Object.entries(deno.imports).map(([name, target]) => [
    name,
    target.startsWith("./") ? import.meta.resolve(`../${target.slice(2)}`) : target,
  ]);
  const config = {
    imports: Object.fromEntries([...own, ...shared.map((module) => [module, standIn])]),
    lock: { path: fileURLToPath(import.meta.resolve("../deno.lock")), frozen: true },
    nodeModulesDir: deno.nodeModulesDir,
    compilerOptions: deno.compilerOptions,
  };
  await Promise.all([
    Deno.writeTextFile(`${workspace}/shared.ts`, shared.map((module) => `export * from "${module}";\n`).join("")),
    Deno.writeTextFile(`${workspace}/${SHARED_STAND_IN}`, ""),
    Deno.writeTextFile(`${workspace}/deno.json`, JSON.stringify(config)),
  ]);
  return `${workspace}/deno.json`;
}

/**
 * Replaces the parser and printer of graphql in the client's bundle. graphql-request calls them only to find the name
 * of an operation and to handle syntax trees. The client needs neither, and the 42 KB would slow down every command.
 */
const NO_GRAPHQL = `const unavailable = () => {
  throw new Error("the client does not contain the parser of graphql");
};
export { unavailable as Kind, unavailable as parse, unavailable as print };
`;

/**
 * Replaces the hashes in the names of chunks with numbers, in import order. Deno's hashes depend on the path of its
 * cache, so the executables of the same commit would differ between machines.
 */
async function numberChunks(directory: string): Promise<void> {
  const chunk = /[\w-]+-[A-Z0-9]{8}\.js(?=")/g;
  const codes = new Map<string, string>();
  const subdirectories: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    if (isDirectory) subdirectories.push(`${directory}/${name}`);
    else if (name.endsWith(".js")) codes.set(name, await Deno.readTextFile(`${directory}/${name}`));
  }
  const names = new Map<string, string>();
  const reached = [...codes.keys()].filter((name) => !/-[A-Z0-9]{8}\.js$/.test(name));
  for (const file of reached) {
    for (const [name] of codes.get(file)?.matchAll(chunk) ?? []) {
      if (names.has(name) || !codes.has(name)) continue;
      names.set(name, name.replace(/[A-Z0-9]{8}\.js$/, `${names.size + 1}.js`));
      reached.push(name);
    }
  }
  await Promise.all([...codes].map(async ([file, code]) => {
    await Deno.remove(`${directory}/${file}`);
    const renamed = code.replaceAll(chunk, (name) => names.get(name) ?? name);
    await Deno.writeTextFile(`${directory}/${names.get(file) ?? file}`, renamed);
  }));
  await Promise.all(subdirectories.map(numberChunks));
}

/** Defines `require`, which CommonJS packages call to import Node's modules. Deno before 2.8 does not define it. */
async function defineRequire(directory: string): Promise<void> {
  const banner = 'import{createRequire as requireFor}from"node:module";const require=requireFor(import.meta.url);\n';
  for await (const path of filesIn(directory)) {
    if (!path.endsWith(".js")) continue;
    const code = await Deno.readTextFile(path);
    if (code.includes("Dynamic require of") && !code.includes("createRequire")) {
      await Deno.writeTextFile(path, `${banner}${code}`);
    }
  }
}

/**
 * Compiles a bundle for a target, with the permissions of the `start` task.
 *
 * @throws {Error} with Deno's message if compiling fails
 */
export async function compileBundle(
  bundle: Bundle,
  target: Target,
  executable: string,
  base: RuntimeBase,
): Promise<void> {
  const { directory, entry, commit, time } = bundle;
  const source = commit === undefined ? "unknown commit" : `commit ${commit.id}`;
  const version = `service-api ${deno.version} (${source}, ${target})`;
  await Deno.writeTextFile(`${directory}/version.js`, `export const VERSION=${JSON.stringify(version)};\n`);
  // The executable contains the modification times of the files.
  for await (const path of filesIn(directory)) await Deno.utime(path, time, time);
  const permissions = deno.tasks.start.command.split(" ").filter((word) => word.startsWith("--allow-"));
  const flags = [...COMPILE_FLAGS, ...permissions, "--import-map", `${directory}/import_map.json`];
  const { DENORT_BIN: _, ...env } = Deno.env.toObject();
  await execute(
    base.compiler,
    ["compile", ...flags, "--target", target, "--output", executable, `${directory}/${entry}`],
    base.file === undefined ? env : { ...env, DENORT_BIN: base.file },
  );
}

/** The version of Deno in executables with this base. */
export async function runtimeVersion({ compiler }: RuntimeBase): Promise<string> {
  return (await execute(compiler, ["eval", "--no-config", "console.log(Deno.version.deno)"])).trim();
}

async function execute(program: string, args: readonly string[], env = Deno.env.toObject()): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    cwd: PROJECT,
    clearEnv: true,
    env: { ...env, NO_COLOR: "1" },
    stdin: "null",
  }).output();
  if (success) return new TextDecoder().decode(stdout);
  const [message = ""] = new TextDecoder().decode(stderr).split("\n\nStack backtrace:");
  throw new Error(`deno ${args[0]} failed: ${message.replaceAll(/\s+/g, " ").trim()}`);
}
