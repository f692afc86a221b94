/**
 * Builds a release: an archive for each target, the npm packages, an SBOM, and SHA256SUMS.
 *
 *   deno task release [--target TRIPLE]... [--output DIR] [--base deno|npm]
 *
 * If a target cannot be built, prints an error that names it, builds the other targets, and exits with 1. If none can be
 * built, keeps the previous release. The same
 * commit, Deno and operating system produce the same bytes.
 */
import { zipSync } from "fflate";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import deno from "../deno.json" with { type: "json" };
import { script as bash } from "../src/cli/completions/bash.ts";
import { script as fish } from "../src/cli/completions/fish.ts";
import { script as powershell } from "../src/cli/completions/powershell.ts";
import { script as zsh } from "../src/cli/completions/zsh.ts";
import { manPages } from "./man/pages.ts";
import { writeNpmPackages } from "./npm/packages.ts";
import {
  type BaseSource,
  describe,
  findRuntimeBase,
  isOnNpm,
  readBaseSource,
  type RuntimeBase,
} from "./runtime_base.ts";
import { createSbom, formatLicences } from "./sbom.ts";
import { type Files, packTarball } from "./tarball.ts";
import {
  type Bundle,
  bundle,
  compileBundle,
  executableName,
  PROJECT,
  readTarget,
  runtimeVersion,
  type Target,
  TARGETS,
} from "./bundle.ts";

const NAME = `service-api-${deno.version}`;

const COMPLETIONS = {
  "service-api.bash": bash,
  "_service-api": zsh,
  "service-api.fish": fish,
  "service-api.ps1": powershell,
};

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      base: { type: "string", default: "deno" },
      target: { type: "string", multiple: true },
      output: { type: "string", default: resolve(PROJECT, "dist/release") },
    },
  });
  const source = readBaseSource(values.base);
  const targets = values.target === undefined ? defaultTargets(source) : [...new Set(values.target.map(readTarget))];
  const base = await findRuntimeBase(targets, source);
  console.error(describe(base));
  const output = resolve(values.output);
  await Deno.mkdir(output, { recursive: true });
  const workspace = await Deno.makeTempDir({ prefix: "service-api-release-" });
  // Is inside the output directory, because files can be renamed only within one file system.
  const staging = await Deno.makeTempDir({ dir: output, prefix: ".release-" });
  const cleanUp = (): void => [workspace, staging].forEach((path) => Deno.removeSync(path, { recursive: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    if (signal === "SIGTERM" && Deno.build.os === "windows") continue;
    Deno.addSignalListener(signal, () => {
      cleanUp();
      Deno.exit(130);
    });
  }
  try {
    const files = await build(targets, base, workspace, staging);
    if (files.length === 0) return;
    await replaceOldRelease(staging, output);
    for (const name of files) console.log(`${output}/${name}`);
  } finally {
    cleanUp();
  }
}

/** Returns all targets for which the source has a base, and prints the names of the others. */
function defaultTargets(source: BaseSource): readonly Target[] {
  if (source === "deno") return TARGETS;
  for (const target of TARGETS) {
    if (!isOnNpm(target)) console.error(`Skipped ${target}: npm has no runtime base for it.`);
  }
  return TARGETS.filter(isOnNpm);
}

/**
 * Writes the files of a release to a directory.
 *
 * @returns the names of the archives and npm packages; empty if no target could be built
 */
async function build(
  targets: readonly Target[],
  base: RuntimeBase,
  workspace: string,
  directory: string,
): Promise<readonly string[]> {
  const bundled = await bundle(workspace);
  const { contents: { packages }, commit, time } = bundled;
  if (commit === undefined || commit.id.endsWith("-dirty")) {
    console.error(`The source is not a clean commit: --version will print ${commit?.id ?? "unknown commit"}.`);
  }
  const runtime = await runtimeVersion(base);
  await Deno.writeTextFile(`${directory}/${NAME}.cdx.json`, await createSbom(packages, runtime, base.programs, time));
  const thirdPartyLicences = await formatLicences(packages, runtime);
  const pages = await manPages(time);
  const files = await readFiles(thirdPartyLicences, pages);
  const archives: string[] = [];
  const executables = new Map<Target, string>();
  for (const target of targets) {
    const executable = `${workspace}/${executableName(`service-api-${target}`, target)}`;
    // deno-lint-ignore no-await-in-loop -- one at a time: each uses hundreds of megabytes
    const packed = await archive(target, executable, bundled, base, files).catch((error) => {
      console.error(`Could not build ${target}: ${reasonOf(error)}`);
      Deno.exitCode = 1;
    });
    if (packed === undefined) continue;
    const name = archiveName(target);
    // deno-lint-ignore no-await-in-loop -- as above
    await Deno.writeFile(`${directory}/${name}`, packed);
    archives.push(name);
    executables.set(target, executable);
  }
  if (executables.size === 0) return [];
  const npmPackages = await writeNpmPackages({ executables, thirdPartyLicences, manPages: pages, directory, time });
  await writeChecksums([...archives, ...npmPackages, `${NAME}.cdx.json`], directory);
  return [...archives, ...npmPackages];
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const [, reason] = /Setting up base binary\. (.*)/s.exec(message) ?? [];
  return reason === undefined ? message : `no runtime base. ${reason}`;
}

/** Replaces an earlier release, and removes all its files: the workflow publishes every file in the directory. */
async function replaceOldRelease(staging: string, output: string): Promise<void> {
  for await (const { name } of Deno.readDir(output)) {
    if (/^(service-api-.*\.(tar\.gz|tgz|zip|cdx\.json)|SHA256SUMS)$/.test(name)) await Deno.remove(`${output}/${name}`);
  }
  for await (const { name } of Deno.readDir(staging)) await Deno.rename(`${staging}/${name}`, `${output}/${name}`);
}

async function readFiles(thirdPartyLicences: string, pages: ReadonlyMap<string, string>): Promise<Files> {
  const encoder = new TextEncoder();
  return {
    "LICENSE": await Deno.readFile(`${PROJECT}/LICENSE`),
    "README.md": await Deno.readFile(`${PROJECT}/README.md`),
    "THIRD-PARTY-LICENSES": encoder.encode(thirdPartyLicences),
    ...Object.fromEntries(
      Object.entries(COMPLETIONS).map(([name, script]) => [`completions/${name}`, encoder.encode(script)]),
    ),
    ...Object.fromEntries([...pages].map(([name, text]) => [`man/${name}`, encoder.encode(text)])),
  };
}

function archiveName(target: Target): string {
  return `${NAME}-${target}.${target.includes("windows") ? "zip" : "tar.gz"}`;
}

/** Compiles for a target and packs the executable with the other files. */
async function archive(
  target: Target,
  executable: string,
  bundled: Bundle,
  base: RuntimeBase,
  files: Files,
): Promise<Uint8Array> {
  await compileBundle(bundled, target, executable, base);
  const program = { [executableName("service-api", target)]: await Deno.readFile(executable) };
  const pack = target.includes("windows") ? packZip : packTarball;
  return await pack(`${NAME}-${target}`, program, files, bundled.time);
}

function packZip(folder: string, program: Files, files: Files, time: Date): Uint8Array {
  // Zip files store local time. Store UTC, so that the time zone of the machine does not matter.
  const mtime = new Date(time.getTime() + time.getTimezoneOffset() * 60_000);
  const entries = Object.entries({ ...program, ...files }).map(([name, bytes]) => [`${folder}/${name}`, bytes]);
  return zipSync(Object.fromEntries(entries), { level: 9, mtime });
}

/** Writes SHA256SUMS, in the format of `sha256sum --check`. */
async function writeChecksums(names: readonly string[], output: string): Promise<void> {
  const lines = await Promise.all(names.map(async (name) => {
    const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(`${output}/${name}`));
    return `${new Uint8Array(digest).toHex()}  ${name}\n`;
  }));
  await Deno.writeTextFile(`${output}/SHA256SUMS`, lines.join(""));
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exit(1);
}
