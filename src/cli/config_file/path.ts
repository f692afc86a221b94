/** Where the config file is, and what the paths in it mean. */
import type { Host } from "../host/host.ts";
import { platformDirectory } from "../settings/platform_directory.ts";
import type { ProfileFlags } from "../settings/server_flags.ts";
import { choose, type GivenSetting } from "../settings/setting.ts";

export interface ConfigPath {
  readonly path: string;
  /** Who named it; `undefined`: it is the platform's, and need not be there. */
  readonly named: GivenSetting | undefined;
}

/** The config file that is named, or else the platform's; `undefined` where there is no home for one. */
export function chooseConfigPath(flags: ProfileFlags, host: Host): ConfigPath | undefined {
  const named = choose("config", flags, host);
  const path = named?.value ?? platformConfigPath(host);
  return path === undefined ? undefined : { path, named };
}

function platformConfigPath(host: Host): string | undefined {
  const directory = platformDirectory("config", host);
  return directory && `${directory}${host.platform === "windows" ? "\\" : "/"}config.yaml`;
}

/** The directory of a file, with the separator at its end; empty for a bare name. */
export function directoryOf(path: string, host: Host): string {
  return path.replace(host.platform === "windows" ? /[^\\/]*$/ : /[^/]*$/, "");
}

/** A path in the config file: relative to the directory of the file, or with `~/` to the home. */
export function resolvePath(written: string, configPath: string, host: Host): string {
  const isWindows = host.platform === "windows";
  const home = host.env(isWindows ? "USERPROFILE" : "HOME");
  if (home !== undefined && (isWindows ? /^~[\\/]/ : /^~\//).test(written)) return `${home}${written.slice(1)}`;
  // On Windows "C:" alone begins a path of that drive.
  const isAbsolute = (isWindows ? /^([A-Za-z]:|[\\/])/ : /^\//).test(written);
  return isAbsolute || written === "" ? written : `${directoryOf(configPath, host)}${written}`;
}

/** What `login` and `logout` lock while they change a config file and its keys. */
export function lockOf({ path }: ConfigPath): string {
  return `${path}.lock`;
}

/** Where `login` keeps the key of a profile: as the config file has it. */
export function storedKey(profile: string): string {
  return `keys/${profile}.key`;
}
