/** The config file: its profiles, and the one that is meant. */
import { Failure, quote, reasonOf } from "../../apikey/failure.ts";
import { nearest } from "../../apikey/nearest.ts";
import type { Host } from "../host/host.ts";
import { chooseConfigPath, type ConfigPath, resolvePath } from "./path.ts";
import type { ConfigDocument } from "./yaml.ts";
import type { ProfileFlags } from "../settings/server_flags.ts";
import { choose, type GivenSetting, type Profile } from "../settings/setting.ts";

/** The longest config file, in bytes. */
const MOST_BYTES = 1_000_000;

export interface Config {
  /** The file that was read; `undefined`: there is none. */
  readonly file: ConfigPath | undefined;
  /** Who named the profile; `undefined`: nobody. */
  readonly named: GivenSetting | undefined;
  readonly profile: Profile | undefined;
}

/**
 * Finds the profile that flag, variable or default name. Without a config file that takes one attempt to open it.
 *
 * @throws {Failure} `USAGE` when something is wrong in the file, or what was named is not there
 */
export async function readConfig(flags: ProfileFlags, host: Host): Promise<Config> {
  const path = chooseConfigPath(flags, host);
  const named = choose("profile", flags, host);
  const config = path && await readConfigFile(path, host);
  const profile = config?.profiles.get(named?.value ?? "default");
  if (named !== undefined && profile === undefined) {
    throw noSuchProfile(named, path?.path, [...config?.profiles.keys() ?? []]);
  }
  return { file: config && path, named, profile };
}

function noSuchProfile({ name, value }: GivenSetting, path: string | undefined, names: readonly string[]): Failure {
  const [first, ...others] = names;
  const lacks = path === undefined
    ? "there is no home directory to have a config file in: name one with --config"
    : first === undefined
    ? `${path} has no profiles. service-api login makes one`
    : `${path} has no profile ${quote(value)}; did you mean ${nearest(value, [first, ...others])}? Its profiles are ` +
      names.join(", ");
  return new Failure("USAGE", `${name}: ${lacks}.`);
}

/**
 * Reads a config file.
 *
 * @returns `undefined` when the platform's is not there
 * @throws {Failure} `USAGE`
 */
export async function readConfigFile(config: ConfigPath, host: Host): Promise<ConfigDocument | undefined> {
  const text = await readConfigText(config, host);
  if (text === undefined) return undefined;
  const { parseConfig } = await import("#config-document");
  return parseConfig(text, config.path, (written) => resolvePath(written, config.path, host));
}

/**
 * The text of a config file, without a byte order mark.
 *
 * @returns `undefined` when the platform's is not there
 * @throws {Failure} `USAGE` when it cannot be read, or others can write it
 */
export async function readConfigText({ path, named }: ConfigPath, host: Host): Promise<string | undefined> {
  const file = await open(path, named);
  if (file === undefined) return undefined;
  try {
    const { mode, size } = await file.stat();
    if (host.platform !== "windows" && mode !== null && (mode & 0o022) !== 0) {
      throw new Failure("USAGE", `Others can write ${path}, and so say where keys go: chmod go-w ${shellWord(path)}`);
    }
    if (size > MOST_BYTES) throw unreadable(path, named, `it has more than ${MOST_BYTES} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(await new Response(file.readable).arrayBuffer());
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw unreadable(path, named, error instanceof TypeError ? "it is not UTF-8" : reasonOf(error), error);
  } finally {
    close(file);
  }
}

async function open(path: string, named: GivenSetting | undefined): Promise<Deno.FsFile | undefined> {
  try {
    // Opening a pipe would wait for somebody to write into it.
    // deno-lint-ignore no-sync-fn-in-async-fn -- a thread to ask in takes ten times as long to start
    if (Deno.statSync(path).isFile) return await Deno.open(path);
  } catch (error) {
    if (named === undefined && await isAbsent(path, error)) return undefined;
    throw unreadable(path, named, reasonOf(error), error);
  }
  throw unreadable(path, named, "it is not a file");
}

/** Whether there is no such file, or none as far as this user may look. */
async function isAbsent(path: string, error: unknown): Promise<boolean> {
  if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return true;
  if (!(error instanceof Deno.errors.PermissionDenied)) return false;
  return await Deno.stat(path).then(() => false, () => true);
}

/** Reading to the end closes a file, and closing it again is an error. */
function close(file: Deno.FsFile): void {
  try {
    file.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

function unreadable(path: string, named: GivenSetting | undefined, reason: string, cause?: unknown): Failure {
  return new Failure("USAGE", `${named?.name ?? "The config file"}: cannot read ${quote(path)}: ${reason}.`, { cause });
}

function shellWord(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
