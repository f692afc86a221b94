/** The npm packages of a release, a registry on this machine that has them, and npm with this registry and no other. */
import { unpackTar } from "modern-tar";
import { gunzipSync } from "node:zlib";
import { readTarget, type Target, TARGETS } from "../../scripts/bundle.ts";
import { packageName, writeNpmPackages } from "../../scripts/npm/packages.ts";
import { execute, type Outcome } from "../execute.ts";
import { findProgram } from "../tools.ts";

/** The name of the platform package for this machine. */
export const PLATFORM_PACKAGE = packageName(readTarget(Deno.build.target));

/** Man pages of a section for commands and of another one. */
export const MAN_PAGES: ReadonlyMap<string, string> = new Map([
  ["service-api.1", "the program\n"],
  ["service-api-json.7", "the topic json\n"],
]);

/** The time of the files in the packages. */
export const TIME = new Date("2026-01-02T03:04:05Z");

/** The targets of a release with runtime bases from npm, which has none for Windows on ARM64. */
export const RELEASED = TARGETS.filter((target) => target !== "aarch64-pc-windows-msvc");

/**
 * Writes the packages of all released targets to a directory. In the packages for other machines, a short text replaces
 * the executable.
 *
 * @param executable the path of the executable for this machine. By default, a short text replaces this executable too.
 * @returns the file names
 */
export async function writePackages(directory: string, executable?: string): Promise<readonly string[]> {
  const text = `${directory}/text`;
  await Deno.writeTextFile(text, "an executable\n");
  const pathFor = (target: Target): string => target === Deno.build.target ? executable ?? text : text;
  const executables = new Map(RELEASED.map((target) => [target, pathFor(target)]));
  const release = { executables, thirdPartyLicences: "licences\n", manPages: MAN_PAGES, directory, time: TIME };
  const names = await writeNpmPackages(release);
  await Deno.remove(text);
  return names;
}

export type Entries = Awaited<ReturnType<typeof unpackTar>>;

/** The entries of a tarball. */
export async function entriesIn(path: string): Promise<Entries> {
  return await unpackTar(gunzipSync(await Deno.readFile(path)));
}

/** The text of a file in a tarball. */
export function textIn(entries: Entries, name: string): string {
  return new TextDecoder().decode(entries.find(({ header }) => header.name === name)?.data);
}

/** What the registry knows about a package: its `package.json`, and the path and checksum of its tarball. */
interface Published {
  readonly manifest: Readonly<Record<string, unknown>>;
  /** The path of the tarball. */
  readonly path: string;
  readonly integrity: string;
}

/** Packages by name. */
export type Packages = ReadonlyMap<string, Published>;

/** Reads the packages in a directory. */
export async function readPackages(directory: string, files: readonly string[]): Promise<Packages> {
  return new Map(
    await Promise.all(files.map(async (file) => {
      const path = `${directory}/${file}`;
      const manifest = JSON.parse(textIn(await entriesIn(path), "package/package.json"));
      const digest = await crypto.subtle.digest("SHA-512", await Deno.readFile(path));
      const integrity = `sha512-${new Uint8Array(digest).toBase64()}`;
      return [String(manifest.name), { manifest, path, integrity }] as const;
    })),
  );
}

export interface Registry extends AsyncDisposable {
  readonly url: string;
  /** The names of the packages whose tarballs were requested. */
  readonly downloads: readonly string[];
}

/** Serves packages as an npm registry: `/NAME` describes a package, `/-/NAME` is its tarball. */
export function serveRegistry(packages: Packages): Registry {
  const downloads: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const { pathname, origin } = new URL(request.url);
    const name = decodeURIComponent(pathname).replace(/^\/(-\/)?/, "");
    const found = packages.get(name);
    if (found === undefined) return Response.json({}, { status: 404 });
    const { manifest, path, integrity } = found;
    if (pathname.startsWith("/-/")) {
      downloads.push(name);
      return new Response((await Deno.open(path)).readable);
    }
    const version = String(manifest.version);
    const dist = { tarball: `${origin}/-/${name}`, integrity };
    return Response.json({ name, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } });
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  return { url, downloads, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** Runs a command with npm's settings for a registry, and with its home, cache and prefix in a directory. */
export function npmIn(
  directory: string,
  registry: string,
): (program: string, args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Outcome> {
  const path = Deno.env.get("PATH") ?? "";
  const settings = {
    PATH: Deno.build.os === "windows" ? `${directory}/prefix;${path}` : `${directory}/prefix/bin:${path}`,
    HOME: directory,
    npm_config_registry: registry,
    npm_config_prefix: `${directory}/prefix`,
    npm_config_cache: `${directory}/cache`,
    npm_config_userconfig: `${directory}/npmrc`,
    npm_config_globalconfig: `${directory}/global-npmrc`,
    npm_config_update_notifier: "false",
    npm_config_audit: "false",
    npm_config_fund: "false",
    SERVICE_API_DATA_DIR: `${directory}/data`,
  };
  return (program, args, env = {}) =>
    execute(findProgram(program) ?? program, args, { cwd: directory, clearEnv: true, env: { ...settings, ...env } });
}
