/** Finds the config file and resolves the paths in it. */
import type { Host } from "../host/host.ts";
import { platformDirectory } from "../settings/platform_directory.ts";
import type { ProfileFlags } from "../settings/server_flags.ts";
import { chooseSetting, type SourcedSetting } from "../settings/setting.ts";

export interface ConfigPath {
  readonly path: string;
  /** The flag or variable that names the file. If it is `undefined`, a missing file is not an error. */
  readonly setting: SourcedSetting | undefined;
}

/**
 * The config file that a flag or variable names, or else the platform's config file.
 *
 * @returns `undefined` if no flag or variable names a file, and the platform's directory is unknown
 */
export function chooseConfigPath(flags: ProfileFlags, host: Host): ConfigPath | undefined {
  const setting = chooseSetting("config", flags, host);
  const path = setting?.value ?? platformConfigPath(host);
  return path === undefined ? undefined : { path, setting };
}

function platformConfigPath(host: Host): string | undefined {
  const directory = platformDirectory("config", host);
  return directory && `${directory}${host.platform === "windows" ? "\\" : "/"}config.yaml`;
}

/** The directory of a file, including the separator at the end. Empty if the path is only a file name. */
export function directoryOf(path: string, host: Host): string {
  return path.replace(host.platform === "windows" ? /[^\\/]*$/ : /[^/]*$/, "");
}

/**
 * Resolves a path from the config file. `~/` means the home directory. Any other relative path is relative to the
 * directory of the config file.
 */
export function resolvePath(path: string, configPath: string, host: Host): string {
  const isWindows = host.platform === "windows";
  const home = host.env(isWindows ? "USERPROFILE" : "HOME");
  if (home !== undefined && (isWindows ? /^~[\\/]/ : /^~\//).test(path)) return `${home}${path.slice(1)}`;
  // On Windows, a path like C:name is relative to the drive, not to the config file.
  const isAbsolute = (isWindows ? /^([A-Za-z]:|[\\/])/ : /^\//).test(path);
  return isAbsolute || path === "" ? path : `${directoryOf(configPath, host)}${path}`;
}

/** The file that `login` and `logout` lock while they change a config file and its keys. */
export function lockPath({ path }: ConfigPath): string {
  return `${path}.lock`;
}
