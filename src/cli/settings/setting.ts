/** One setting: its value and its source. A flag wins over its variable, and the variable wins over the profile. */
import { Failure, NOTHING_CHANGED, quote, reasonOf } from "../../apikey/failure.ts";
import type { Host } from "../host/host.ts";
import { unlessInterrupted } from "../host/interrupt.ts";
import { showWaiting } from "../host/show_waiting.ts";
import { flagOf, type SettingKey, SETTINGS } from "./table.ts";

export interface Setting {
  /** The flag, the variable, or the place in the config file, for messages. */
  readonly name: string;
  readonly value: string;
}

/** A setting with its source. */
export interface SourcedSetting extends Setting {
  readonly source: "flag" | "variable" | "file";
  /** The flag, the variable, or `path:line:column`. */
  readonly from: string;
}

/** The settings whose flag takes one value. */
export type SingleKey = Exclude<SettingKey, "header" | "allowHttp">;

/** The settings of one profile of the config file. */
export interface Profile {
  readonly name: string;
  readonly values: ReadonlyMap<SettingKey, SourcedSetting>;
  /** Each value has the form `Name: value`. */
  readonly headers: readonly SourcedSetting[];
}

/** Returns the setting of the flag, or else of the variable, or else of the profile. */
export function chooseSetting<Key extends SingleKey>(
  key: Key,
  flags: { readonly [Flag in Key]?: string | undefined },
  host: Host,
  profile?: Profile,
): SourcedSetting | undefined {
  const flagValue = flags[key];
  if (flagValue !== undefined) return settingFrom("flag", flagOf(key), flagValue);
  const { variable } = SETTINGS[key];
  const value = host.env(variable);
  return value === undefined ? profile?.values.get(key) : settingFrom("variable", variable, value);
}

/** Returns the setting, or its default if it is not set. */
export function orDefault(key: "timeout" | "maxResponseSize", setting: Setting | undefined): Setting {
  return setting ?? { name: flagOf(key), value: SETTINGS[key].default };
}

/** Creates a setting. Messages use `from` as its name. */
export function settingFrom(source: SourcedSetting["source"], from: string, value: string): SourcedSetting {
  return { source, from, name: from, value };
}

const PRECEDENCE = { flag: 3, variable: 2, file: 1 } as const satisfies Record<SourcedSetting["source"], number>;

/** The setting with the higher number wins. The number is 0 if the setting is not set. */
export function precedenceOf(setting: SourcedSetting | undefined): number {
  return setting === undefined ? 0 : PRECEDENCE[setting.source];
}

/** The byte order mark of UTF-16LE. With `>`, Windows PowerShell 5 writes UTF-16LE files that begin with this mark. */
const UTF_16_MARK = [0xff, 0xfe];

/** The longest wait for the end of a pipe, in milliseconds, unless the caller states another one. */
const PIPE_TIMEOUT = 30_000;

/**
 * Reads the file that a setting names: UTF-8, or UTF-16LE with a byte order mark. Omits the byte order mark. Also reads
 * the pipe that a shell passes for `<(command)`.
 *
 * @param timeout the longest wait for the end of a pipe, in milliseconds
 * @throws {Failure} `USAGE` if the file cannot be read or is not a file; `TIMEOUT`
 */
export async function readSettingFile(path: string, setting: string, timeout = PIPE_TIMEOUT): Promise<string> {
  try {
    const bytes = await readBytes(path, setting, timeout);
    const isUtf16 = UTF_16_MARK.every((byte, index) => bytes[index] === byte);
    return new TextDecoder(isUtf16 ? "utf-16le" : "utf-8").decode(bytes);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure("USAGE", `${setting}: cannot read ${quote(path)}: ${reasonOf(error)}.`, { cause: error });
  }
}

async function readBytes(path: string, setting: string, timeout: number): Promise<Uint8Array> {
  // deno-lint-ignore no-sync-fn-in-async-fn -- the asynchronous call starts a thread and takes ten times as long
  const { isFile, isDirectory, isFifo } = Deno.statSync(path);
  // Reading a directory fails with the system's reason.
  if (isFile || isDirectory) return await Deno.readFile(path);
  // Opening a named pipe would block the whole program until another process writes to it.
  if (!isFifo || !path.startsWith("/dev/fd/")) {
    const kind = isFifo ? "a named pipe" : "a device or a socket";
    throw new Failure("USAGE", `${setting}: cannot read ${quote(path)}: it is ${kind}. Use a file.`);
  }
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `${setting}: the pipe ${quote(path)} did not end within ${timeout / 1000} s.`;
    reject(new Failure("TIMEOUT", `${message} Check the program that writes to it.`));
  }, timeout);
  try {
    return await Promise.race([Deno.readFile(path), timedOut]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reads standard input for a setting whose value is `-`.
 *
 * @throws {Failure} `USAGE` if standard input is a terminal or was already read; `INTERRUPTED` on SIGINT or SIGTERM
 */
export async function readStandardInput(setting: string, host: Host): Promise<string> {
  if (!host.stdin.isTerminal()) {
    const reading = unlessInterrupted(host.stdin.readText(), NOTHING_CHANGED, host);
    return await showWaiting(() => `the end of standard input, for ${setting}`, host, reading);
  }
  throw new Failure("USAGE", `${setting} - reads standard input, which is a terminal. Pipe the value in.`);
}
