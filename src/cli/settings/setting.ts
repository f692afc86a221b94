/** One setting: a flag, or else a variable, or else a member of the profile. */
import { Failure, NOTHING_CHANGED, quote, reasonOf } from "../../apikey/failure.ts";
import type { Host } from "../host/host.ts";
import { unlessInterrupted } from "../host/interrupt.ts";
import { flagOf, type SettingKey, SETTINGS } from "./table.ts";

export interface Setting {
  /** The flag, the variable, or the place in the config file that the value comes from, for messages. */
  readonly name: string;
  readonly value: string;
}

/** A setting that somebody has set. */
export interface GivenSetting extends Setting {
  readonly source: "flag" | "variable" | "file";
  /** The flag, the variable, or `path:line:column`. */
  readonly from: string;
}

/** The settings whose flag takes one value. */
export type SingleKey = Exclude<SettingKey, "header" | "allowHttp">;

/** What a profile of the config file sets. */
export interface Profile {
  readonly name: string;
  readonly values: ReadonlyMap<SettingKey, GivenSetting>;
  /** The headers apart, as `Name: value`. */
  readonly headers: readonly GivenSetting[];
}

/** The flag if it is given, else the variable if it is set, else what the profile has. */
export function choose<Key extends SingleKey>(
  key: Key,
  flags: { readonly [Flag in Key]?: string | undefined },
  host: Host,
  profile?: Profile,
): GivenSetting | undefined {
  const typed = flags[key];
  if (typed !== undefined) return given("flag", flagOf(key), typed);
  const { variable } = SETTINGS[key];
  const value = host.env(variable);
  return value === undefined ? profile?.values.get(key) : given("variable", variable, value);
}

/** A setting whose name says where it comes from. */
export function given(source: GivenSetting["source"], from: string, value: string): GivenSetting {
  return { source, from, name: from, value };
}

const RANKS = { flag: 3, variable: 2, file: 1 } as const satisfies Record<GivenSetting["source"], number>;

/** Which of two sources wins: the one of the higher rank; 0 for a setting that is not given. */
export function rank(setting: GivenSetting | undefined): number {
  return setting === undefined ? 0 : RANKS[setting.source];
}

/**
 * Reads the file that a flag, a variable or the config file names.
 *
 * @throws {Failure} `USAGE` when it cannot be read
 */
export async function readSettingFile(path: string, setting: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    const reason = error instanceof Deno.errors.NotCapable ? "the runtime opens no such path" : reasonOf(error);
    throw new Failure("USAGE", `${setting}: cannot read ${quote(path)}: ${reason}.`, { cause: error });
  }
}

/**
 * Reads standard input for a flag or variable whose value is `-`.
 *
 * @throws {Failure} `USAGE` at a terminal, where it would wait for somebody to type; `INTERRUPTED`
 */
export async function readStandardInput(setting: string, host: Host): Promise<string> {
  if (!host.stdin.isTerminal()) {
    return await unlessInterrupted(host.stdin.readText(), NOTHING_CHANGED, host);
  }
  throw new Failure("USAGE", `${setting} - reads standard input, which is a terminal: pipe it in.`);
}
