/** Says which key files `login` and `logout` may write and remove, so that no profile loses its key to another. */
import type { Host } from "../host/host.ts";
import type { Profile } from "../settings/setting.ts";
import { type ConfigPath, directoryOf } from "./path.ts";

/** The profiles of a config file. */
export interface ProfilesOfFile {
  readonly file: ConfigPath;
  readonly profiles: ReadonlyMap<string, Profile>;
}

/** The key file of a profile. */
export interface KeyFileUse {
  /** The path of the file. */
  readonly path: string;
  /** Whether the file is in the directory `keys` of the config file, where `login` stores keys. */
  readonly isInKeys: boolean;
  /** The names of the other profiles that use the file too. */
  readonly others: readonly string[];
}

/** Says who uses the key file of a profile. Returns `undefined` if the profile has no key file. */
export async function keyFileUse(
  name: string,
  { file, profiles }: ProfilesOfFile,
  host: Host,
): Promise<KeyFileUse | undefined> {
  const path = profiles.get(name)?.values.get("keyFile")?.value;
  if (path === undefined) return undefined;
  const identity = await identify(path, host);
  const keys = await identify(`${directoryOf(file.path, host)}keys/`, host);
  const isInKeys = identity.startsWith(keys) && /^[^\\/]+\.key$/.test(identity.slice(keys.length));
  const users = await usersOf(identity, profiles, host);
  return { path, isInKeys, others: users.filter((user) => user !== name) };
}

/**
 * Returns where `login` stores the first key of a profile, relative to the config file: `keys/NAME.key`. If a profile
 * uses this file, or if it exists, adds a number to the name.
 */
export async function newKeyFile(name: string, { file, profiles }: ProfilesOfFile, host: Host): Promise<string> {
  for (let number = 1;; number++) {
    const keyFile = `keys/${name}${number === 1 ? "" : `-${number}`}.key`;
    const path = `${directoryOf(file.path, host)}${keyFile}`;
    // deno-lint-ignore no-await-in-loop -- the first free name
    const isTaken = await exists(path) || (await usersOf(await identify(path, host), profiles, host)).length > 0;
    if (!isTaken) return keyFile;
  }
}

async function usersOf(
  identity: string,
  profiles: ReadonlyMap<string, Profile>,
  host: Host,
): Promise<readonly string[]> {
  const users = await Promise.all([...profiles.values()].map(async ({ name, values }) => {
    const path = values.get("keyFile")?.value;
    return path !== undefined && await identify(path, host) === identity ? [name] : [];
  }));
  return users.flat();
}

/**
 * Returns the same text for two paths of one file. The file can be missing. Some systems ignore the case of names, so
 * this ignores it everywhere.
 */
async function identify(path: string, host: Host): Promise<string> {
  const directory = directoryOf(path, host);
  const real = await Deno.realPath(directory === "" ? "." : directory).catch(() => directory.replace(/[\\/]$/, ""));
  return `${real}/${path.slice(directory.length)}`.toLowerCase();
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, (error) => !(error instanceof Deno.errors.NotFound));
}
