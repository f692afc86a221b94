/**
 * Writes the npm packages of a release: one package for each platform, which contains the executable, and `service-api`,
 * which contains the shim. The platform packages are optional dependencies of `service-api`. npm installs only the one
 * whose `os`, `cpu` and `libc` match the machine, so no package needs an install script.
 */
import deno from "../../deno.json" with { type: "json" };
import { executableName, PROJECT, type Target } from "../bundle.ts";
import { type Files, packTarball } from "../tarball.ts";

/** The platform of a package: the fields of `package.json` that npm compares with the machine. */
interface Platform {
  readonly os: string;
  readonly cpu: string;
  readonly libc?: string;
}

const PLATFORMS: Readonly<Record<Target, Platform>> = {
  "x86_64-unknown-linux-gnu": { os: "linux", cpu: "x64", libc: "glibc" },
  "aarch64-unknown-linux-gnu": { os: "linux", cpu: "arm64", libc: "glibc" },
  "x86_64-apple-darwin": { os: "darwin", cpu: "x64" },
  "aarch64-apple-darwin": { os: "darwin", cpu: "arm64" },
  "x86_64-pc-windows-msvc": { os: "win32", cpu: "x64" },
  "aarch64-pc-windows-msvc": { os: "win32", cpu: "arm64" },
};

export interface NpmRelease {
  /** The paths of the executables. `service-api` depends on the packages of these targets. */
  readonly executables: ReadonlyMap<Target, string>;
  /** The text of `THIRD-PARTY-LICENSES`, for the packages with an executable. */
  readonly thirdPartyLicences: string;
  /** The man pages, by file name. npm installs those of `service-api`. */
  readonly manPages: ReadonlyMap<string, string>;
  /** The directory for the tarballs. */
  readonly directory: string;
  /** The modification time of all files: the time of the commit. */
  readonly time: Date;
}

/** The name of the platform package of a target. It contains the names that Node gives the system and processor. */
export function packageName(target: Target): string {
  const { os, cpu } = PLATFORMS[target];
  return `@service-api/${os}-${cpu}`;
}

/** The file name of a package's tarball, as `npm pack` would name it. */
export function tarballName(name: string): string {
  return `${name.replace("@", "").replace("/", "-")}-${deno.version}.tgz`;
}

/**
 * Writes the tarballs of all packages. The same executables and time give the same bytes.
 *
 * @returns the file names, in the order in which to publish them: `service-api` is the last, because it depends on the
 * others
 */
export async function writeNpmPackages(release: NpmRelease): Promise<readonly string[]> {
  const { executables, thirdPartyLicences, manPages, directory, time } = release;
  const licence = await Deno.readFile(`${PROJECT}/LICENSE`);
  const write = async (manifest: Manifest, program: string, path: string, files: Files): Promise<string> => {
    const json = encode(`${JSON.stringify(manifest, null, 2)}\n`);
    const programs = { [program]: await Deno.readFile(path) };
    const tarball = await packTarball("package", programs, { "package.json": json, LICENSE: licence, ...files }, time);
    const name = tarballName(manifest.name);
    await Deno.writeFile(`${directory}/${name}`, tarball);
    return name;
  };
  const names: string[] = [];
  for (const [target, path] of executables) {
    const program = `bin/${executableName("service-api", target)}`;
    const files = { "README.md": encode(readmeOf(target)), "THIRD-PARTY-LICENSES": encode(thirdPartyLicences) };
    // deno-lint-ignore no-await-in-loop -- one at a time: each uses hundreds of megabytes
    names.push(await write(manifestOf(target), program, path, files));
  }
  const readme = await Deno.readFile(`${PROJECT}/README.md`);
  const man = Object.fromEntries([...manPages].map(([name, text]) => [`man/${name}`, encode(text)]));
  const main = mainManifest([...executables.keys()], Object.keys(man));
  return [...names, await write(main, SHIM, `${import.meta.dirname}/shim.cjs`, { "README.md": readme, ...man })];
}

/** The path of the shim in `service-api`. */
const SHIM = "bin/service-api.cjs";

/** A `package.json`. */
interface Manifest {
  readonly name: string;
  readonly [field: string]: unknown;
}

/** The fields that all packages share. npm requires `repository` to be the one whose workflow proves the provenance. */
const COMMON = {
  version: deno.version,
  license: deno.license,
  homepage: "https://github.com/service-api/service-api",
  repository: { type: "git", url: "git+https://github.com/service-api/service-api.git" },
  publishConfig: { access: "public", provenance: true },
};

/** @param man the paths of the man pages in the package */
function mainManifest(targets: readonly Target[], man: readonly string[]): Manifest {
  return {
    name: "service-api",
    description: "Creates, lists, changes, rotates and deletes API keys on a server over GraphQL",
    ...COMMON,
    bin: { "service-api": SHIM },
    man,
    files: ["bin", "man"],
    engines: { node: ">=18" },
    optionalDependencies: Object.fromEntries(targets.map((target) => [packageName(target), deno.version]).toSorted()),
  };
}

function manifestOf(target: Target): Manifest {
  const { os, cpu, libc } = PLATFORMS[target];
  return {
    name: packageName(target),
    description: `The executable of service-api for ${os} on ${cpu}`,
    ...COMMON,
    files: ["bin", "THIRD-PARTY-LICENSES"],
    os: [os],
    cpu: [cpu],
    ...(libc === undefined ? {} : { libc: [libc] }),
    // Yarn would otherwise keep the package in a zip file, from which the executable cannot run.
    preferUnplugged: true,
  };
}

function readmeOf(target: Target): string {
  return `# ${packageName(target)}

The executable of [service-api](https://www.npmjs.com/package/service-api) for \`${target}\`.

Do not install this package directly. \`npm install --global service-api\` installs it on machines that can run it.
`;
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
