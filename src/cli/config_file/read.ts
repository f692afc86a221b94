/** Reads the config file and selects the profile. */
import { Failure, quote, reasonOf } from "../../apikey/failure.ts";
import { didYouMean } from "../../apikey/nearest.ts";
import { shellWord } from "../../apikey/shell_word.ts";
import type { Host } from "../host/host.ts";
import { chooseConfigPath, type ConfigPath, resolvePath } from "./path.ts";
import type { ConfigDocument } from "./yaml.ts";
import type { ProfileFlags } from "../settings/server_flags.ts";
import { chooseSetting, type Profile, type SourcedSetting } from "../settings/setting.ts";

/** The largest config file, in bytes. */
const MAX_SIZE = 1_000_000;

export interface Config {
  /** The file that was read; `undefined` if there is none. */
  readonly file: ConfigPath | undefined;
  /** The flag or variable that selects the profile. If neither is set, the profile is `default`, if that exists. */
  readonly profileSetting: SourcedSetting | undefined;
  readonly profile: Profile | undefined;
  /** All profiles of the file by name, in its order. */
  readonly profiles: ReadonlyMap<string, Profile>;
}

/**
 * Reads the config file, if there is one, and selects the profile.
 *
 * @throws {Failure} `USAGE` if the file is invalid or cannot be read, if other users can write it (not checked on
 * Windows), or if a file or profile that a setting names is missing
 */
export async function readConfig(flags: ProfileFlags, host: Host): Promise<Config> {
  const path = chooseConfigPath(flags, host);
  const profileSetting = chooseSetting("profile", flags, host);
  const config = path && await readConfigFile(path, host);
  const profiles = config?.profiles ?? new Map<string, Profile>();
  const profile = profiles.get(profileSetting?.value ?? "default");
  if (profileSetting !== undefined && profile === undefined) {
    throw unknownProfile(profileSetting, path?.path, [...profiles.keys()]);
  }
  return { file: config && path, profileSetting, profile, profiles };
}

/**
 * Returns the sentence that names the profiles of a file and says how to select one. Empty if it has none, or if one is
 * selected.
 */
export function otherProfiles({ file, profile, profiles }: Config): string {
  const names = [...profiles.keys()];
  if (file === undefined || profile !== undefined || names.length === 0) return "";
  const list = names.join(", ").replace(/, ([^,]*)$/, " and $1");
  return `${quote(file.path)} has the ${names.length === 1 ? "profile" : "profiles"} ${list}: add --profile ${
    names[0]
  }.`;
}

/** Whether a failure is that a line of the config file is not valid. Its message begins with the line. */
export function isInvalidLine(error: unknown, path: string): error is Failure {
  return error instanceof Failure && error.message.startsWith(`${path}:`);
}

function unknownProfile({ name, value }: SourcedSetting, path: string | undefined, names: readonly string[]): Failure {
  const problem = path === undefined
    ? "could not find your home directory, so there is no default config file. Use --config or SERVICE_API_CONFIG"
    : names.length === 0
    ? `${path} has no profiles. Create one with service-api login`
    : `${path} has no profile ${quote(value)}.${didYouMean(value, names)} ` +
      `The file has these profiles: ${names.join(", ")}`;
  return new Failure("USAGE", `${name}: ${problem}.`);
}

/**
 * Reads and parses a config file.
 *
 * @returns `undefined` if no setting names the file, and the file is missing or in a directory that this user cannot
 * search
 * @throws {Failure} `USAGE`
 */
export async function readConfigFile(config: ConfigPath, host: Host): Promise<ConfigDocument | undefined> {
  const text = await readConfigText(config, host);
  if (text === undefined) return undefined;
  const { parseConfig } = await import("#config-document");
  return parseConfig(text, config.path, (path) => resolvePath(path, config.path, host));
}

/**
 * Reads the text of a config file, without a byte order mark.
 *
 * @returns `undefined` if no setting names the file, and the file is missing or in a directory that this user cannot
 * search
 * @throws {Failure} `USAGE` if the file cannot be read, or if other users can write it (not checked on Windows)
 */
export async function readConfigText({ path, setting }: ConfigPath, host: Host): Promise<string | undefined> {
  const file = await open(path, setting);
  if (file === undefined) return undefined;
  try {
    const { mode, size } = await file.stat();
    if (host.platform !== "windows" && mode !== null && (mode & 0o022) !== 0) {
      throw new Failure(
        "USAGE",
        `Other users can change ${path}, so they could send your keys to another server. Run: chmod go-w ${
          shellWord(path)
        }`,
      );
    }
    if (size > MAX_SIZE) throw cannotRead(path, setting, `it is larger than ${MAX_SIZE} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(await new Response(file.readable).arrayBuffer());
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw cannotRead(path, setting, error instanceof TypeError ? "it is not UTF-8" : reasonOf(error), error);
  } finally {
    close(file);
  }
}

async function open(path: string, setting: SourcedSetting | undefined): Promise<Deno.FsFile | undefined> {
  try {
    // Opening a named pipe would block until another process writes to it.
    // deno-lint-ignore no-sync-fn-in-async-fn -- the asynchronous call starts a thread and takes ten times as long
    if (Deno.statSync(path).isFile) return await Deno.open(path);
  } catch (error) {
    if (setting === undefined && await isMissing(path, error)) return undefined;
    throw cannotRead(path, setting, reasonOf(error), error);
  }
  throw cannotRead(path, setting, "it is not a file");
}

/** Whether the file does not exist, or is in a directory that this user cannot search. */
async function isMissing(path: string, error: unknown): Promise<boolean> {
  if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return true;
  if (!(error instanceof Deno.errors.PermissionDenied)) return false;
  return await Deno.stat(path).then(() => false, () => true);
}

/** Closes a file. Reading a file to its end closes it, and closing a closed file is an error. */
function close(file: Deno.FsFile): void {
  try {
    file.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

function cannotRead(path: string, setting: SourcedSetting | undefined, reason: string, cause?: unknown): Failure {
  return new Failure("USAGE", `${setting?.name ?? "The config file"}: cannot read ${quote(path)}: ${reason}.`, {
    cause,
  });
}
