/** Bundles the program, and makes executables of a bundle. */
import deno from "../deno.json" with { type: "json" };
import { type BundleContents, filesIn, readBundleContents } from "./bundle_contents.ts";
import { type Commit, readCommit } from "./commit.ts";

/** Every target of `deno compile`. */
export const TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
  "aarch64-pc-windows-msvc",
] as const;

export type Target = typeof TARGETS[number];

/** @throws {Error} naming what is no target */
export function readTarget(triple: string): Target {
  const found = TARGETS.find((target) => target === triple);
  if (found !== undefined) return found;
  throw new Error(`${triple} is not a target; the targets are ${TARGETS.join(", ")}`);
}

/** The part that is made anew for each target. */
const VERSION = "#version";

/** The name of an executable on a target. */
export function executableName(name: string, target: Target): string {
  return target.includes("windows") ? `${name}.exe` : name;
}

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

export const PROJECT = `${import.meta.dirname}/..`;

export interface Bundle {
  readonly directory: string;
  /** The file to compile, in that directory. */
  readonly entry: string;
  readonly contents: BundleContents;
  readonly commit: Commit | undefined;
  /** Of the commit, and else the earliest that a zip file can have anywhere. */
  readonly time: Date;
}

/**
 * Bundles into a directory: the program, and each part that it loads on demand apart from it, which are the names with
 * `#` in the import map. A part has all that it needs in it. Were they one bundle with code splitting, what they have
 * in common would lie in a dozen small files, each of which takes its time to load.
 *
 * The minifier loses the end of a `using` declaration (evanw/esbuild issue 4482): the program has none.
 *
 * @throws {Error} with Deno's own words when it fails
 */
export async function bundle(directory: string, main = `${PROJECT}/main.ts`): Promise<Bundle> {
  const parts = Object.entries(deno.imports).filter(([name]) => name.startsWith("#"));
  const imports: Record<string, string> = { [VERSION]: "./version.js" };
  // Each by its name: packages have imports with # of their own.
  const externals = parts.flatMap(([name]) => ["--external", name]);
  const flags = ["bundle", "--quiet", "--minify", "--code-splitting", "--sourcemap=external", ...externals];
  await execute(Deno.execPath(), [...flags, "--outdir", directory, main]);
  for (const [name, module] of parts.filter(([name]) => name !== VERSION)) {
    const folder = name.slice(1);
    // deno-lint-ignore no-await-in-loop -- one at a time: there are two processors
    await execute(Deno.execPath(), [...flags, "--outdir", `${directory}/${folder}`, module]);
    imports[name] = `./${folder}/${module.replace(/^.*\//, "").replace(/ts$/, "js")}`;
  }
  const contents = await readBundleContents(directory);
  await nameChunks(directory);
  await giveRequire(directory);
  await Deno.writeTextFile(`${directory}/import_map.json`, JSON.stringify({ imports }));
  const entry = main.replace(/^.*\//, "").replace(/ts$/, "js");
  const commit = await readCommit(PROJECT);
  return { directory, entry, contents, commit, time: commit?.time ?? new Date("1980-01-02") };
}

/**
 * Chunks are named after a hash of their contents and of where Deno's cache lies: number them, in the order in which
 * others import them, so that the same commit gives the same executable anywhere.
 */
async function nameChunks(directory: string): Promise<void> {
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
  await Promise.all(subdirectories.map(nameChunks));
}

/** CommonJS packages ask for Node's modules with `require`, which bundles of Deno before 2.8 do not have. */
async function giveRequire(directory: string): Promise<void> {
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
 * Puts a bundle on the runtime base of a target, with the permissions of the `start` task and no others. The same
 * commit gives the same bytes, made by the same Deno.
 *
 * `DENORT_BIN` names a base for this machine to use instead of the one that Deno downloads. `DENO_COMPILE` names the
 * Deno of the version of that base, where it is not the one that runs this script: the two have to match.
 *
 * @throws {Error} with Deno's own words when it fails
 */
export async function compileBundle(bundle: Bundle, target: Target, executable: string): Promise<void> {
  const { directory, entry, commit, time } = bundle;
  const made = commit === undefined ? "of no commit" : `commit ${commit.id}`;
  const version = `service-api ${deno.version} (${made}, ${target})`;
  await Deno.writeTextFile(`${directory}/version.js`, `export const VERSION=${JSON.stringify(version)};\n`);
  // Deno puts the times of the files into the executable.
  for await (const path of filesIn(directory)) await Deno.utime(path, time, time);
  const permissions = deno.tasks.start.command.split(" ").filter((word) => word.startsWith("--allow-"));
  const flags = [...COMPILE_FLAGS, ...permissions, "--import-map", `${directory}/import_map.json`];
  const { DENORT_BIN, ...env } = Deno.env.toObject();
  await execute(
    env.DENO_COMPILE ?? Deno.execPath(),
    ["compile", ...flags, "--target", target, "--output", executable, `${directory}/${entry}`],
    DENORT_BIN !== undefined && target === Deno.build.target ? { ...env, DENORT_BIN } : env,
  );
}

/** The version of the Deno that executables are made with, which is that of their base. */
export async function runtimeVersion(): Promise<string> {
  const compiler = Deno.env.get("DENO_COMPILE") ?? Deno.execPath();
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
  const [words = ""] = new TextDecoder().decode(stderr).split("\n\nStack backtrace:");
  throw new Error(`deno ${args[0]} failed: ${words.replaceAll(/\s+/g, " ").trim()}`);
}
