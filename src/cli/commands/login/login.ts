/** `login`: checks that a server accepts a key, and stores the server and the key as a profile. */
import type { Command } from "@commander-js/extra-typings";
import { escapeInvisible, Failure, quote } from "../../../apikey/failure.ts";
import { canPrompt, type PromptFlags } from "../../host/can_prompt.ts";
import type { CommandContext } from "../../command.ts";
import { EXIT_STATUS, ExitCode } from "../../exit_code.ts";
import type { Host } from "../../host/host.ts";
import type { Log } from "../../host/log.ts";
import type { Prompts } from "../../prompts/prompts.ts";
import { parseBaseUrl, withScheme } from "../../settings/base_url.ts";
import { readConfigFile } from "../../config_file/read.ts";
import { chooseConfigPath, type ConfigPath } from "../../config_file/path.ts";
import { readKey } from "../../connection/headers.ts";
import type { EffectiveSettings } from "../../connection/effective_settings.ts";
import { withLock } from "../../config_file/private_file.ts";
import { checkProfileName } from "../../settings/profile_name.ts";
import { type AddressFlags, withAddressFlags } from "../../settings/server_flags.ts";
import { chooseSetting, type Profile, settingFrom, type SourcedSetting } from "../../settings/setting.ts";
import { describeKey } from "./describe_key.ts";
import { type AcceptedKey, identify } from "./identify.ts";
import { promptForKey, promptForServer, SERVER } from "./login_prompts.ts";
import { changesFor, endpointOf, storeProfile } from "./stored_profile.ts";

/** Registers the command. */
export function registerLogin(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withOwnFlags = command
    .description(
      "Check that a server accepts a key, and store the server and the key as a\n" +
        "profile. Prompts for the server and the key if they are not set.",
    )
    .optionsGroup("Prompts:")
    .option("--no-input", "never prompt; fail if a value is missing")
    .option("--plain", "prompt in plain lines, for example for screen readers [SERVICE_API_PLAIN]");
  withAddressFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await login(flags, host, log, openTerminalPrompts)));
}

/** The flags of the command, as typed. */
export interface LoginFlags extends AddressFlags, Pick<PromptFlags, "input"> {}

async function openTerminalPrompts(host: Host): Promise<Prompts> {
  return (await import("#prompts")).openPrompts(host);
}

/**
 * Checks that a server accepts a key, and stores the server and the key as a profile.
 *
 * @param openPrompts called if a value is missing and the program can prompt
 * @throws {Failure} with any code. Unless the code is `FAILED`, nothing was stored.
 */
export async function login(
  flags: LoginFlags,
  host: Host,
  log: Log,
  openPrompts: (host: Host) => Promise<Prompts>,
): Promise<ExitCode> {
  const configPath = chooseConfigPath(flags, host);
  if (configPath === undefined) {
    throw new Failure("USAGE", "Could not find your home directory, so there is no default config file. Use --config.");
  }
  // login creates the config file if it is missing, even if `--config` or SERVICE_API_CONFIG names it. Without
  // `setting`, a missing file is not an error.
  const file: ConfigPath = { ...configPath, setting: undefined };
  const profiles = (await readConfigFile(file, host))?.profiles ?? new Map<string, Profile>();
  const profileSetting = chooseSetting("profile", flags, host);
  const { name: setting, value: name } = profileSetting ?? { name: "--profile", value: "default" };
  checkProfileName({ name: setting, value: name }, [...profiles.keys()]);
  const oldProfile = profiles.get(name);

  let prompts: Promise<Prompts> | undefined;
  const requirePrompts = async (missing: string, flag: string): Promise<Prompts> => {
    if (canPrompt(flags, host)) return await (prompts ??= openPrompts(host));
    throw new Failure("USAGE", `login needs a ${missing} and cannot prompt for it here. Use ${flag}.`);
  };
  const baseUrl = chooseServer(flags, host) ??
    settingFrom("flag", SERVER, await promptForServer(await requirePrompts("server", "--base-url"), flags, oldProfile));
  const endpoint = parseBaseUrl(baseUrl, { allowHttp: true }).href;
  const server = endpoint.replace(/\/graphql$/, "");
  const flagsWithUrl = baseUrl.source === "variable" ? flags : { ...flags, baseUrl: baseUrl.value };
  const { resolveSettings } = await import("#connection");
  const resolved = resolveSettings(flagsWithUrl, host, { file: configPath, profileSetting, profile: oldProfile });
  const check = async (key: SourcedSetting): Promise<AcceptedKey> => {
    const effective = { ...resolved, key, keyFile: undefined };
    return { effective, key, ...await identify(effective, host, log) };
  };
  const given = await readKeyFromFlagOrVariable(resolved, host, log);
  const shownServer = baseUrl.name === SERVER ? server : `${server} (${baseUrl.from})`;
  const { effective, key, caller, foundKeyHeader, verification } = given !== undefined
    ? await check(given)
    : await promptForKey(
      await requirePrompts("key", "--key-file <file>, or --key-file - to read standard input"),
      `for ${shownServer}; stored as profile ${quote(name)}`,
      check,
      host,
    );
  const changes = changesFor(name, server, { ...flags, keyHeader: flags.keyHeader ?? foundKeyHeader }, effective, host);
  const profile = { file, name, changes, key: key.value, isNewServer: endpointOf(oldProfile) !== endpoint };
  await withLock(file, host, () => storeProfile(profile, host));
  const identity = caller === undefined ? "" : ` as ${quote(caller.name)} (${escapeInvisible(caller.id)})`;
  const note = foundKeyHeader === undefined ? "" : ` The server expects the key in the header ${foundKeyHeader}.`;
  await host.stdout.write(`Logged in to ${server}${identity}.${note}\n`);
  await describeKey(verification, host);
  await warnAboutVariables(baseUrl, key, host);
  return ExitCode.OK;
}

/** Returns the server of the flag or the variable. */
function chooseServer(flags: LoginFlags, host: Host): SourcedSetting | undefined {
  const setting = chooseSetting("baseUrl", flags, host);
  return setting?.source === "flag" ? { ...setting, value: withScheme(setting.value) } : setting;
}

/** Reads the key from a flag or variable. Ignores the key of the profile, because `login` replaces it. */
async function readKeyFromFlagOrVariable(
  settings: EffectiveSettings,
  host: Host,
  log: Log,
): Promise<SourcedSetting | undefined> {
  return settings.keyFile?.source === "file" ? undefined : await readKey(settings, host, log);
}

/** Warns about variables that override the stored profile, because the user may have forgotten that they are set. */
async function warnAboutVariables(server: SourcedSetting, key: SourcedSetting, host: Host): Promise<void> {
  const isSet = (name: string): boolean => host.env(name) !== undefined;
  const url = host.env("SERVICE_API_URL");
  const overridingVariables = [
    ...url === undefined
      ? ["SERVICE_API_DATA_DIR", "SERVICE_API_DATABASE_URL"].filter(isSet)
      : ["SERVICE_API_URL"].filter(() => url !== server.value),
    ...["SERVICE_API_KEY", "SERVICE_API_KEY_FILE"].filter((name) => isSet(name) && key.from !== name),
  ];
  for (const name of overridingVariables) {
    // deno-lint-ignore no-await-in-loop -- the lines keep their order
    await host.stderr.write(`${name} is set and overrides the stored profile. Unset it to use the profile.\n`);
  }
}

const NOTES = `
If neither --profile nor SERVICE_API_PROFILE is set, the profile has the name
"default". If the server rejects the key, login stores nothing.
login stores the key in keys/<profile>.key, in the directory of the config file.
On Linux and macOS, only you can read the key file, and the config file if it
contains headers or a database-url. login also stores --key-header, --header,
--ca-file and --allow-http in the profile.
A URL without a scheme gets http:// for this machine, otherwise https://. At a
terminal, login asks up to three times for a key that the server accepts, and
shows what the key may do. If the key has the role ADMIN, there is a warning.
Without --key-header, login sends the key as a bearer token. If the server
refuses it, login tries the header x-api-key, and stores this header if the
server accepts the key.
If the profile was for another server or for a store, login removes its old
key-header, headers, ca-file and allow-http. login leaves the rest of the config
file unchanged.
service-api config --help describes the config file.

Examples:
  service-api login
  service-api login --profile staging --base-url https://keys.example.com
  echo "$KEY" | service-api login --base-url https://keys.example.com \\
    --key-file -
${EXIT_STATUS}`;
