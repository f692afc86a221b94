/** `config`: prints the settings in effect and their sources, without contacting a server. */
import type { Command } from "@commander-js/extra-typings";
import { escapeInvisible } from "../../apikey/failure.ts";
import { redactSecrets } from "../../apikey/secret.ts";
import type { CommandContext } from "../command.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host, Output } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import { wrapFor } from "../host/notes.ts";
import { writeJson } from "../report.ts";
import { chooseConfigPath, type ConfigPath } from "../config_file/path.ts";
import { type Config, isInvalidLine } from "../config_file/read.ts";
import type { EffectiveSettings } from "../connection/effective_settings.ts";
import { readKey } from "../connection/headers.ts";
import { describeServer, type SettingRow, settingRows } from "../connection/setting_rows.ts";
import { type ServerFlags, withServerFlags } from "../settings/server_flags.ts";
import { chooseSetting, type SourcedSetting } from "../settings/setting.ts";

/** Registers the command. */
export function registerConfig(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withOwnFlags = command
    .description(
      "Print every setting with its value and its source: a flag, an environment\n" +
        "variable, a line of the config file, or the default. Then list the profiles of\n" +
        "the config file. Masks secrets. Does not contact a server.",
    )
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure");
  withServerFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await config(flags, host, log)));
}

/** The flags of the command, as typed. */
export interface ConfigFlags extends ServerFlags {
  readonly json?: boolean | undefined;
}

/**
 * Prints the settings in effect and, as text, the profiles of the config file. If a setting is invalid, also prints the
 * settings as text: the user may need them to find the error.
 *
 * @throws {Failure} `USAGE` if a setting is invalid
 */
export async function config(flags: ConfigFlags, host: Host, log: Log): Promise<ExitCode> {
  const { readEffectiveSettings } = await import("#connection");
  const printText = async (rows: readonly SettingRow[], notes: string): Promise<void> =>
    await host.stdout.write(await toText(rows, host.stdout) + notes);
  const settings = await readEffectiveSettings(flags, host, log).catch(async (error) => {
    const file = chooseConfigPath(flags, host);
    if (flags.json || file === undefined || !isInvalidLine(error, file.path)) throw error;
    const rows = await rowsOf(await resolveWithoutProfile(file, flags, host), undefined, host);
    await printText(
      rows,
      `\n${await wrapFor(host.stdout, "The config file has an error, so its settings are not shown.")}\n`,
    );
    throw error;
  });
  const profiles = flags.json ? "" : await listProfiles(settings.config, host.stdout);
  const key = await checkSettings(settings, host, log).catch(async (error) => {
    if (!flags.json) {
      await host.stdout.write(await toText(await rowsOf(settings, undefined, host), host.stdout) + profiles);
    }
    throw error;
  });
  const rows = await rowsOf(settings, key, host);
  if (flags.json) await writeJson(host.stdout, { settings: rows });
  else await printText(rows, profiles);
  return ExitCode.OK;
}

/** Resolves flags, variables and defaults. */
async function resolveWithoutProfile(file: ConfigPath, flags: ConfigFlags, host: Host): Promise<EffectiveSettings> {
  const { resolveSettings } = await import("#connection");
  const profileSetting = chooseSetting("profile", flags, host);
  return resolveSettings(flags, host, { file, profileSetting, profile: undefined, profiles: new Map() });
}

/**
 * Validates the settings.
 *
 * @returns the key, if there is one
 */
async function checkSettings(
  settings: EffectiveSettings,
  host: Host,
  log: Log,
): Promise<SourcedSetting | undefined> {
  const { parseSettings } = await import("#connection");
  // Leaves standard input unread, because only commands that send the key read it.
  const readsStandardInput = settings.keyFile?.value === "-";
  const key = readsStandardInput ? settings.keyFile : await readKey(settings, host, log);
  await parseSettings({ ...settings, key: readsStandardInput ? undefined : key, keyFile: undefined }, host, log);
  return key;
}

async function rowsOf(
  settings: EffectiveSettings,
  key: SourcedSetting | undefined,
  host: Host,
): Promise<readonly SettingRow[]> {
  const known = settingRows(settings, key, host);
  const inEffect = known.filter(({ ignored }) => ignored === undefined);
  return [...inEffect, await plainRow(host), ...known.slice(inEffect.length)];
}

/** Lists the profiles of the config file with their servers, and how to select one. Empty if there are none. */
async function listProfiles({ profile: selected, profiles }: Config, output: Output): Promise<string> {
  if (profiles.size === 0) return "";
  const width = Math.max(...[...profiles.keys()].map((name) => name.length));
  const lines = [...profiles.values()].map((profile) => {
    const server = escapeInvisible(describeServer(profile) ?? "the local store");
    return `${profile.name === selected?.name ? "*" : " "} ${profile.name.padEnd(width)}  ${server}`;
  });
  const advice = "To select a profile, add --profile NAME. To make it the default, set SERVICE_API_PROFILE.";
  return ["", "Profiles (* selected):", ...lines, await wrapFor(output, advice), ""].join("\n");
}

/** Whether prompts are plain lines, and the variable that says so. */
async function plainRow(host: Host): Promise<SettingRow> {
  const { isPlain } = await import("#terminal");
  // An unset TERM has no name to show, so this host has the platform where it does not count.
  const decides = (name: string): boolean =>
    isPlain({ args: [], platform: "windows", env: (variable) => variable === name ? host.env(name) : undefined });
  const from = ["SERVICE_API_PLAIN", "TERM"].find(decides) ?? null;
  return { name: "plain", value: String(isPlain(host)), source: from === null ? "default" : "variable", from };
}

/** The maximum width of a column, in UTF-16 code units. After a longer text, the next column begins on a new line. */
const MAX_COLUMN_WIDTH = 48;

/** The width that the sources have at least on a terminal. */
const MIN_SOURCE_WIDTH = 12;

async function toText(rows: readonly SettingRow[], output: Output): Promise<string> {
  const lines = rows.map(({ name, value, source, from, ignored }) => [
    escapeInvisible(name),
    escapeInvisible(redactSecrets(value ?? "-")),
    escapeInvisible(`${from ?? source}${ignored === undefined ? "" : ` (ignored: ${ignored})`}`),
  ]);
  const width = (column: number, maximum = MAX_COLUMN_WIDTH): number =>
    Math.max(0, ...lines.map((line) => line[column]?.length ?? 0).filter((length) => length <= maximum));
  const names = width(0);
  if (output.isTerminal()) {
    const values = width(1, Math.min(MAX_COLUMN_WIDTH, output.columns() - names - MIN_SOURCE_WIDTH));
    const { wrapMessage } = await import("#terminal");
    const room = output.columns() - 1;
    return lines.flatMap(([name = "", value = "", from = ""]) => {
      const row = `${name.padEnd(names)}  ${value.padEnd(values)}  ${from}`;
      if (row.length <= room) return [row];
      if (names + 2 + Math.max(value.length, from.length) <= room) {
        return [`${name.padEnd(names)}  ${value}`, `${" ".repeat(names + 2)}${from}`];
      }
      return [name, `  ${value}`, ...wrapMessage(from, room - 2).map((line) => `  ${line}`)];
    }).map((line) => `${line}\n`).join("");
  }
  const values = width(1);
  const cell = (text: string, width: number, start: number): string =>
    text.length <= width ? `${text.padEnd(width)}  ` : `${text}\n${" ".repeat(start + width + 2)}`;
  return lines.map(([name = "", value = "", from]) =>
    `${cell(name, names, 0)}${cell(value, values, names + 2)}${from}\n`
  )
    .join("");
}

const NOTES = `
Settings:
  The order of precedence is: flag, environment variable, profile, default. An
  empty variable counts as unset. The flags --data-dir and --database-url win
  over SERVICE_API_URL. No flag takes a key as its value. A base URL may end in
  / or in /graphql. LOG_LEVEL (default: warn) is trace, debug, info, warn, error
  or fatal. debug logs the settings, the server or store, every request and the
  exit code, without secrets. SERVICE_API_PLAIN=1 makes prompts plain lines.

Default directories:
  For data (--data-dir). Contains keys.db, the store of the embedded server.
    Linux    $XDG_DATA_HOME/service-api, or ~/.local/share/service-api
    macOS    ~/Library/Application Support/service-api
    Windows  %LOCALAPPDATA%\\service-api
  For settings. Contains config.yaml, the config file.
    Linux    $XDG_CONFIG_HOME/service-api, or ~/.config/service-api
    macOS    ~/Library/Application Support/service-api
    Windows  %APPDATA%\\service-api

Config file:
  If a line is not valid, config prints all other settings and the error. To
  rename or remove a profile, edit the file. To change your default, set
  SERVICE_API_PROFILE.
  profiles:
    default:                 # used unless you name a profile
      base-url: https://keys.example.com
      key-file: keys/default.key
      timeout: 1m
    staging:
      base-url: http://keys.staging.internal:4000
      allow-http: true
      ca-file: ~/staging.pem
      key-header: X-API-Key
      headers:
        X-Team: ops
    local:
      data-dir: ~/keys       # or database-url: postgres://user@host/database
  A setting has the name of its flag, except headers, whose flag is --header.
  The flag --header adds a header to the profile's headers, or replaces the one
  with the same name. A relative path starts at the directory of the config
  file; ~/ is your home directory.
  service-api login writes profiles; you can also write them yourself. It makes
  the file private if it contains headers or a database-url. On Linux and macOS,
  a config file that other users can write is rejected, and there is a warning
  if other users can access your key file.
  If a profile names a server or a store, and a flag or variable selects another
  one, the profile's key-file, key-header, headers, ca-file and allow-http are
  ignored, because they are only for the profile's own server or store.

JSON:
  {"settings":[{"name","value","source","from"},...]}
  value is null for a setting without a value; source is flag, variable, file or
  default; from is the flag, the variable or PATH:LINE:COLUMN, and null for a
  default. A setting that is ignored has "ignored", which says why.

Examples:
  service-api config
  service-api config --profile staging --json
${EXIT_STATUS}`;
