/** `login`: checks that a server accepts a key, and stores the server and the key as a profile. */
import type { Command } from "@commander-js/extra-typings";
import { escapeInvisible, Failure, type FailureCode, quote } from "../../../apikey/failure.ts";
import { canPrompt, type PromptFlags } from "../../host/can_prompt.ts";
import type { CommandContext } from "../../command.ts";
import { EXIT_STATUS, ExitCode } from "../../exit_code.ts";
import type { Host } from "../../host/host.ts";
import { wrapFor } from "../../host/notes.ts";
import type { Log } from "../../host/log.ts";
import type { Prompts } from "../../prompts/prompts.ts";
import { parseBaseUrl, withScheme } from "../../settings/base_url.ts";
import { type Config, isInvalidLine, readConfigFile } from "../../config_file/read.ts";
import { chooseConfigPath, type ConfigPath } from "../../config_file/path.ts";
import { readKey } from "../../connection/headers.ts";
import type { EffectiveSettings } from "../../connection/effective_settings.ts";
import { describeServer } from "../../connection/setting_rows.ts";
import { withLock } from "../../config_file/private_file.ts";
import { checkProfileName } from "../../settings/profile_name.ts";
import { type AddressFlags, withAddressFlags } from "../../settings/server_flags.ts";
import { chooseSetting, type Profile, settingFrom, type SourcedSetting } from "../../settings/setting.ts";
import { describeKey } from "./describe_key.ts";
import { type AcceptedKey, identify } from "./identify.ts";
import { confirmUnchecked, promptForKey, promptForServer, SERVER, writeProblem } from "./login_prompts.ts";
import { changesFor, chooseKeyFile, endpointOf, storeProfile } from "./stored_profile.ts";

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
    throw new Failure(
      "USAGE",
      "Could not find your home directory, so there is no default config file. Use --config or SERVICE_API_CONFIG.",
    );
  }
  // login creates the config file if it is missing, even if `--config` or SERVICE_API_CONFIG names it. Without
  // `setting`, a missing file is not an error.
  const file: ConfigPath = { ...configPath, setting: undefined };
  const profiles = await readProfiles(file, host);
  const profileSetting = chooseSetting("profile", flags, host);
  const { name: setting, value: name } = profileSetting ?? { name: "--profile", value: "default" };
  checkProfileName({ name: setting, value: name }, [...profiles.keys()]);

  let prompts: Promise<Prompts> | undefined;
  const session: Session = {
    flags,
    host,
    log,
    file,
    name,
    config: { file: configPath, profileSetting, profile: profiles.get(name), profiles },
    requirePrompts: async (problem) => {
      if (canPrompt(flags, host)) return await (prompts ??= openPrompts(host));
      throw new Failure("USAGE", problem);
    },
  };
  const given = chooseServer(session);
  if (flags.keyFile === undefined && canPrompt(flags, host)) await noteKeyVariable(host);
  if (given !== undefined) await logInTo(given, false, session);
  else await askAndLogIn(session);
  return ExitCode.OK;
}

async function readProfiles(file: ConfigPath, host: Host): Promise<ReadonlyMap<string, Profile>> {
  try {
    return (await readConfigFile(file, host))?.profiles ?? new Map<string, Profile>();
  } catch (error) {
    if (!isInvalidLine(error, file.path)) throw error;
    const remedy = "login does not change a file with an error. Correct this line, or use another file with --config.";
    throw new Failure(error.code, `${error.message} ${remedy}`);
  }
}

/** What the command was given. */
interface Session {
  readonly flags: LoginFlags;
  readonly host: Host;
  readonly log: Log;
  readonly file: ConfigPath;
  /** The name of the profile. */
  readonly name: string;
  /** The config file before, with the profile if it exists. */
  readonly config: Config;
  /** @throws {Failure} `USAGE` with this message if the command cannot prompt */
  readonly requirePrompts: (problem: string) => Promise<Prompts>;
}

/** Asks for the server, and logs in to it. The user can go back from the key to the server. */
async function askAndLogIn(session: Session): Promise<void> {
  const { flags, host, name, config: { profile }, requirePrompts } = session;
  const prompts = await requirePrompts(noServer(profile));
  const { runSteps } = await import("#prompts");
  let typed = profile?.values.get("baseUrl")?.value ?? "";
  await runSteps([
    async () => {
      typed = await promptForServer(prompts, flags, { name, initial: typed, profile });
    },
    async (canGoBack) => await logInTo(urlFromPrompt(typed), canGoBack, session),
  ], { host });
}

function urlFromPrompt(value: string): SourcedSetting {
  return { ...settingFrom("flag", SERVER, value), from: "the URL that you entered" };
}

/** Chooses the key, checks it on the server, and stores the profile. */
async function logInTo(baseUrl: SourcedSetting, canGoBack: boolean, session: Session): Promise<void> {
  const { flags, host, file, name, config } = session;
  const flagsWithUrl = baseUrl.source === "variable" ? flags : { ...flags, baseUrl: baseUrl.value };
  const { resolveSettings } = await import("#connection");
  // Messages name the source of the URL.
  const settings = { ...resolveSettings(flagsWithUrl, host, config), baseUrl };
  // Refuses http:// before the prompt for the key, because the user would enter the key in vain.
  const endpoint = parseBaseUrl(baseUrl, { allowHttp: settings.allowHttp?.value === "true" }).href;
  const server = endpoint.replace(/\/graphql$/, "");
  const isNewServer = endpointOf(config.profile) !== endpoint;
  const accepted = await chooseKey({ settings, server, isNewServer, canGoBack }, session);
  const { effective, key, caller, foundKeyHeader, verification, isUnchecked } = accepted;
  const keepsKey = key.source === "file";
  const newFlags = { ...flags, keyHeader: flags.keyHeader ?? foundKeyHeader };
  await withLock(file, host, async () => {
    const keyFile = keepsKey ? undefined : await chooseKeyFile(name, file, host);
    const changes = changesFor(isNewServer ? server : undefined, keyFile?.setting, newFlags, effective, host);
    const newKey = keyFile && { value: key.value, path: keyFile.path };
    await storeProfile({ file, name, oldProfile: config.profile, changes, key: newKey, isNewServer }, host);
  });
  const identity = caller === undefined ? "" : ` as ${quote(caller.name)} (${escapeInvisible(caller.id)})`;
  const note = foundKeyHeader === undefined ? "" : ` The server expects the key in the header ${foundKeyHeader}.`;
  const kept = keepsKey ? " The profile keeps its key." : "";
  const replaced = !keepsKey && config.profile?.values.get("keyFile") ? " The key of the profile was replaced." : "";
  const oldServer = isNewServer && config.profile ? describeServer(config.profile) : undefined;
  const changed = oldServer === undefined
    ? ""
    : ` Profile ${quote(name)}: ${escapeInvisible(oldServer)} is now ${server}.`;
  const text = isUnchecked
    ? `Stored the profile ${quote(name)} for ${server}. The key was not checked.${replaced}${changed}`
    : `Logged in to ${server}${identity}.${note}${kept}${replaced}${changed}`;
  await host.stdout.write(`${await wrapFor(host.stdout, text)}\n`);
  await describeKey(verification, host);
  await warnAboutVariables(baseUrl, key, host);
}

/** A server, and how to ask for the key. */
interface KeyChoice {
  readonly settings: EffectiveSettings & { readonly baseUrl: SourcedSetting };
  readonly server: string;
  readonly isNewServer: boolean;
  readonly canGoBack: boolean;
}

/**
 * Returns the key of the flag or the variable, the key that the profile keeps, or the key that the user enters, after the
 * server has accepted it. If the server is not available, the user can decide to store the key without a check.
 */
async function chooseKey(choice: KeyChoice, session: Session): Promise<AcceptedKey> {
  const { flags, host, log, file, requirePrompts } = session;
  const tried: SourcedSetting[] = [];
  const withKey = (key: SourcedSetting): Pick<AcceptedKey, "effective" | "key"> => ({
    effective: { ...choice.settings, key, keyFile: undefined },
    key,
  });
  try {
    return await chooseAcceptedKey(choice, session, async (key) => {
      tried.push(key);
      const chosen = withKey(key);
      return { ...chosen, ...await identify(chosen.effective, host, log) };
    });
  } catch (error) {
    const key = tried.at(-1);
    if (key === undefined || !(error instanceof Failure && UNAVAILABLE.has(error.code))) throw error;
    const { code, message } = error;
    if (!canPrompt(flags, host)) {
      const advice = `Nothing was stored. To store a profile without a check, edit ${quote(file.path)}; service-api ` +
        "config --help describes it.";
      throw new Failure(code, `${message} ${advice}`, { cause: error });
    }
    if (await confirmUnchecked(await requirePrompts(message), message, host)) {
      return { ...withKey(key), caller: undefined, verification: undefined, isUnchecked: true };
    }
    throw new Failure(code, "Nothing was stored. Log in again when the server is available.", { cause: error });
  }
}

/** The codes of failures to reach a server. */
const UNAVAILABLE: ReadonlySet<FailureCode> = new Set(["UNREACHABLE", "TIMEOUT"]);

/** @param check asks the server whether it accepts a key */
async function chooseAcceptedKey(
  { settings, server, isNewServer, canGoBack }: KeyChoice,
  { flags, host, log, name, config: { profile }, requirePrompts }: Session,
  check: (key: SourcedSetting) => Promise<AcceptedKey>,
): Promise<AcceptedKey> {
  const given = await readKeyFromFlagOrVariable(settings, host, log);
  if (given !== undefined) {
    const accepted = await checkGiven(given, flags, host, check);
    if (accepted !== undefined) return accepted;
  }
  const keyFile = profile?.values.get("keyFile");
  const readCurrent = (): Promise<SourcedSetting | undefined> =>
    readKey({ key: undefined, keyFile, timeout: settings.timeout }, host, log);
  if (!isNewServer && !canPrompt(flags, host)) {
    const current = await readCurrent();
    if (current !== undefined) return await check(current);
  }
  const prompts = await requirePrompts(noKey(server, keyFile && profile));
  // A key that cannot be read cannot be kept either.
  const current = await readCurrent().catch(() => undefined);
  const { baseUrl } = settings;
  const source = baseUrl.name === SERVER
    ? ""
    : ` (${baseUrl.source === "file" ? `profile ${quote(name)}` : baseUrl.from})`;
  const target = `The key for ${server}${source} will be stored as profile ${quote(name)}.`;
  return await promptForKey(prompts, { target, server, current, isNewServer, canGoBack }, check, host);
}

/**
 * Checks the key of a flag or a variable.
 *
 * @returns `undefined` if the server rejects the key of a variable and the user can enter another one
 */
async function checkGiven(
  key: SourcedSetting,
  flags: LoginFlags,
  host: Host,
  check: (key: SourcedSetting) => Promise<AcceptedKey>,
): Promise<AcceptedKey | undefined> {
  if (key.source !== "variable" || !canPrompt(flags, host)) return await check(key);
  const showTyping = host.hideTyping?.();
  try {
    return await check(key);
  } catch (error) {
    if (!(error instanceof Failure && error.code === "UNAUTHENTICATED")) throw error;
    await writeProblem(`${error.message} Enter another key.`, host);
    return undefined;
  } finally {
    showTyping?.();
  }
}

/** Says that a variable has the key, before the first prompt. The user may have forgotten the variable. */
async function noteKeyVariable(host: Host): Promise<void> {
  const name = KEY_VARIABLES.find((name) => host.env(name) !== undefined);
  if (name === undefined) return;
  const note = `login uses the key from ${name}. To enter another key, unset this variable.`;
  await host.stderr.write(`${await wrapFor(host.stderr, note)}\n`);
}

/** Returns the server of the flag or the variable or, if the user gives only a key, of the profile. */
function chooseServer({ flags, host, config: { profile } }: Session): SourcedSetting | undefined {
  const setting = chooseSetting("baseUrl", flags, host);
  if (setting !== undefined) {
    return setting.source === "flag" ? { ...setting, value: withScheme(setting.value) } : setting;
  }
  const hasVariable = KEY_VARIABLES.some((name) => host.env(name) !== undefined);
  const givesKey = flags.keyFile !== undefined || (hasVariable && !canPrompt(flags, host));
  return givesKey ? profile?.values.get("baseUrl") : undefined;
}

function noServer(oldProfile: Profile | undefined): string {
  return oldProfile?.values.has("baseUrl")
    ? "login needs a server or a key to store, and cannot prompt for them here. Use --base-url, --key-file or both."
    : "login needs a server and cannot prompt for it here. Use --base-url.";
}

/** @param oldProfile the profile if it has a key */
function noKey(server: string, oldProfile: Profile | undefined): string {
  const advice = "Use --key-file <file>, or --key-file - to read standard input.";
  if (oldProfile === undefined) return `login needs a key and cannot prompt for it here. ${advice}`;
  const url = oldProfile.values.get("baseUrl");
  const edit = url === undefined ? "" : ` To keep the key, edit base-url in ${url.from}.`;
  return `login needs a key for ${server}. It does not send the key of profile ${quote(oldProfile.name)} to another ` +
    `server. ${advice}${edit}`;
}

const KEY_VARIABLES = ["SERVICE_API_KEY", "SERVICE_API_KEY_FILE"] as const;

/** Reads the key from a flag or variable. Ignores the key of the profile. */
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
    ...KEY_VARIABLES.filter((name) => isSet(name) && key.from !== name),
  ];
  for (const name of overridingVariables) {
    const note = `${name} is set and overrides the stored profile. Unset it to use the profile.`;
    // deno-lint-ignore no-await-in-loop -- the lines keep their order
    await host.stderr.write(`${await wrapFor(host.stderr, note)}\n`);
  }
}

const NOTES = `
If neither --profile nor SERVICE_API_PROFILE is set, the profile has the name
"default". If the server rejects the key, login stores nothing. If the server
cannot be reached, login at a terminal offers to store the key without a check.
login stores the key in keys/<profile>.key, in the directory of the config file.
If another profile uses this file, or if the profile does not use it yet but it
exists, login adds a number: keys/<profile>-2.key.
On Linux and macOS, only you can read the key file, and the config file if it
contains headers or a database-url. login also stores --key-header, --header,
--ca-file and --allow-http in the profile.
A URL without a scheme gets http:// for this machine, otherwise https://. At a
terminal, login asks up to three times for a key that the server accepts, and
shows what the key may do. If the key has the role ADMIN, there is a warning.
If SERVICE_API_KEY or SERVICE_API_KEY_FILE is set, login uses this key and says
so. If the server rejects it, login at a terminal asks for another key.
Without --key-header, login sends the key as a bearer token. If the server
refuses it, login tries the header x-api-key, and stores this header if the
server accepts the key.
If the profile exists, login keeps what you do not change. At a prompt, Enter
keeps the server or the key. Without a prompt, --key-file alone keeps the
server, and --base-url alone keeps the key if the server is the same. login
never sends the key of a profile to another server unless you agree at a prompt.
If the profile was for another server or for a store, login removes its old
key-header, headers, ca-file and allow-http. login leaves the rest of the config
file unchanged.
service-api config --help describes the config file.

Examples:
  service-api login
  service-api login --profile staging --base-url https://keys.example.com
  echo "$KEY" | service-api login --base-url https://keys.example.com \\
    --key-file -
  # Replace only the key of a profile.
  service-api login --profile staging --key-file new.key
${EXIT_STATUS}`;
