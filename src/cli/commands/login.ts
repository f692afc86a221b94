/** `login`: checks that a server accepts a key, and stores the server and the key as a profile. */
import type { Command } from "@commander-js/extra-typings";
import { escapeInvisible, Failure, quote } from "../../apikey/failure.ts";
import type { KeyReference, Verification } from "../../client/client.ts";
import { canPrompt, type PromptFlags } from "../host/can_prompt.ts";
import type { CommandContext } from "../command.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import type { Prompts } from "../prompts/prompts.ts";
import { parseBaseUrl, withScheme } from "../settings/base_url.ts";
import { readConfigFile } from "../config_file/read.ts";
import { chooseConfigPath, type ConfigPath, directoryOf, keyFileOf, resolvePath } from "../config_file/path.ts";
import type { Changes } from "../config_file/edit.ts";
import { keySchema, readKey } from "../connection/headers.ts";
import type { EffectiveSettings } from "../connection/effective_settings.ts";
import { removeFile, type StagedFile, stageFile, withLock } from "../config_file/private_file.ts";
import { checkProfileName } from "../settings/profile_name.ts";
import { parseSetting } from "../settings/schema.ts";
import { type AddressFlags, withAddressFlags } from "../settings/server_flags.ts";
import { chooseSetting, type Profile, settingFrom, type SourcedSetting } from "../settings/setting.ts";
import { PROFILE_SETTINGS } from "../settings/table.ts";

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

interface Identity {
  /** `undefined` if the server does not say which key it accepted. */
  readonly caller: KeyReference | undefined;
  /** The header in which the server accepts the key, if this is not the header of the settings. */
  readonly foundKeyHeader?: string;
  /** What the key may do; `undefined` if the server does not report it. */
  readonly verification: Verification | undefined;
}

/** A key that the server accepts, and the settings with it. */
interface AcceptedKey extends Identity {
  readonly effective: EffectiveSettings;
  readonly key: SourcedSetting;
}

/**
 * Checks the key. If the server refuses it as a bearer token, and no setting names a header for the key, checks it again
 * in the header that such servers usually expect.
 */
async function identify(settings: EffectiveSettings, host: Host, log: Log): Promise<Identity> {
  const { BearerRefused, parseSettings, USUAL_KEY_HEADER, withClientFor } = await import("#connection");
  const identifyWith = async (effective: EffectiveSettings): Promise<Identity> => {
    const useClient = withClientFor(await parseSettings(effective, host, log), host, log, REMEDIES);
    return await useClient(async (connect) => {
      const client = await connect();
      const caller = await client.identify();
      return { caller, verification: caller && await ifReported(client.verifyKey()) };
    });
  };
  try {
    return await identifyWith(settings);
  } catch (error) {
    if (!(error instanceof BearerRefused) || settings.keyHeader !== undefined) throw error;
    log.debug("The server refused the key as a bearer token. Trying the header {name}.", { name: USUAL_KEY_HEADER });
    const keyHeader = settingFrom("flag", "--key-header", USUAL_KEY_HEADER);
    try {
      return { ...await identifyWith({ ...settings, keyHeader }), foundKeyHeader: USUAL_KEY_HEADER };
    } catch (secondError) {
      // If the server refuses the key in this header too, the advice in the first error would be wrong.
      const isFinal = secondError instanceof Failure && ["UNAUTHENTICATED", "INTERRUPTED"].includes(secondError.code);
      throw isFinal ? secondError : error;
    }
  }
}

/** The usual advice, to log in, is of no use here. */
const REMEDIES = {
  keyRemedy: "Check that it is the whole key, and a key of this server.",
  newSecretRemedy: "",
};

/** What the key may do is not needed to log in, so a server may refuse to say it. */
async function ifReported(verifying: Promise<Verification>): Promise<Verification | undefined> {
  try {
    return await verifying;
  } catch (error) {
    if (error instanceof Failure && error.code !== "INTERRUPTED") return undefined;
    throw error;
  }
}

/** Returns the server of the flag or the variable. */
function chooseServer(flags: LoginFlags, host: Host): SourcedSetting | undefined {
  const setting = chooseSetting("baseUrl", flags, host);
  return setting?.source === "flag" ? { ...setting, value: withScheme(setting.value) } : setting;
}

/** How messages name the server that the user types at the prompt. */
const SERVER = "The server";

async function promptForServer(prompts: Prompts, flags: LoginFlags, oldProfile: Profile | undefined): Promise<string> {
  const initial = oldProfile?.values.get("baseUrl")?.value;
  const check = (typed: string): void => {
    const setting = { name: SERVER, value: withScheme(typed) };
    // The allow-http of a profile applies only to the server of that profile.
    const isSameServer = parseBaseUrl(setting, { allowHttp: true }).href === endpointOf(oldProfile);
    const allowHttp = flags.allowHttp || isSameServer && oldProfile?.values.get("allowHttp")?.value === "true";
    parseBaseUrl(setting, { allowHttp: allowHttp ?? false });
  };
  const typed = await prompts.text({
    label: "Server",
    hint: "for example https://keys.example.com or localhost:4000",
    ...(initial === undefined ? {} : { initial }),
    check,
    checksOnEnter: true,
  });
  return withScheme(typed);
}

/** The GraphQL endpoint of the profile's server; `undefined` if its base-url is missing or invalid. */
function endpointOf(profile: Profile | undefined): string | undefined {
  const url = profile?.values.get("baseUrl");
  try {
    return url && parseBaseUrl(url, { allowHttp: true }).href;
  } catch {
    return undefined;
  }
}

/** Reads the key from a flag or variable. Ignores the key of the profile, because `login` replaces it. */
async function readKeyFromFlagOrVariable(
  settings: EffectiveSettings,
  host: Host,
  log: Log,
): Promise<SourcedSetting | undefined> {
  return settings.keyFile?.source === "file" ? undefined : await readKey(settings, host, log);
}

/** How many keys the user can try. */
const MAX_ATTEMPTS = 3;

/**
 * Asks for a key until the server accepts one, at most three times.
 *
 * @throws {Failure} of the last check; at once if it is not about the key
 */
async function promptForKey(
  prompts: Prompts,
  hint: string,
  check: (key: SourcedSetting) => Promise<AcceptedKey>,
  host: Host,
): Promise<AcceptedKey> {
  const { styleFor, wrapText } = await import("#terminal");
  const { yellow, symbols } = styleFor(host.stderr, host);
  for (let left = MAX_ATTEMPTS - 1;; left--) {
    // deno-lint-ignore no-await-in-loop -- one attempt at a time
    const key = await promptForSecret(prompts, hint);
    const showTyping = host.hideTyping?.();
    try {
      // deno-lint-ignore no-await-in-loop -- one attempt at a time
      return await check(key);
    } catch (error) {
      if (!(error instanceof Failure && error.code === "UNAUTHENTICATED") || left === 0) throw error;
      const attempts = left === 1 ? "You can try 1 more time." : `You can try ${left} more times.`;
      const lines = wrapText(`${escapeInvisible(error.message)} ${attempts}`, host.stderr.columns() - 5);
      const text = lines.map((line, i) => yellow(`  ${i === 0 ? symbols.error : " "} ${line}`)).join("\n");
      // deno-lint-ignore no-await-in-loop -- one attempt at a time
      await host.stderr.write(`${text}\n`);
    } finally {
      showTyping?.();
    }
  }
}

async function promptForSecret(prompts: Prompts, hint: string): Promise<SourcedSetting> {
  const name = "The key";
  const parse = (value: string): string => parseSetting({ name, value }, keySchema());
  const typed = await prompts.secret({ label: "API key", hint, check: (answer) => void parse(answer) });
  return settingFrom("flag", name, parse(typed));
}

/** The maximum number of permissions to list. The number of further permissions is shown for each action. */
const MAX_LISTED = 6;

/** Shows at a terminal what a key may do and until when. Warns if it has the role ADMIN, also in a pipe. */
async function describeKey(verification: Verification | undefined, host: Host): Promise<void> {
  const key = verification?.isActive ? verification.key : undefined;
  if (key === undefined) return;
  const { relativeTime, styleFor, wrapText } = await import("#terminal");
  const { dim, yellow } = styleFor(host.stderr, host);
  const rows = [
    ["Roles", key.roles?.join(", ")],
    ["Permissions", describePermissions(key.permissions ?? [])],
    ["Expires", key.expiresAt && `${relativeTime(key.expiresAt, host.now())} (${key.expiresAt})`],
  ] as const;
  const width = host.stderr.columns() - LABEL_WIDTH - 3;
  const lines = rows.flatMap(([label, value]) => {
    const [first, ...others] = value ? wrapText(escapeInvisible(value), width) : [];
    return first === undefined ? [] : [
      `  ${dim(label.padEnd(LABEL_WIDTH))}${first}\n`,
      ...others.map((line) => `${" ".repeat(LABEL_WIDTH + 2)}${line}\n`),
    ];
  });
  const isTerminal = host.stderr.isTerminal();
  const warning = isTerminal ? wrapText(ADMIN_WARNING, host.stderr.columns() - 1) : [ADMIN_WARNING];
  const shownWarning = key.roles?.includes("ADMIN") ? warning.map((line) => `${yellow(line)}\n`) : [];
  await host.stderr.write([...isTerminal ? lines : [], ...shownWarning].join(""));
}

/** The width of the labels and the space after them. */
const LABEL_WIDTH = 13;

const ADMIN_WARNING = "Warning: this key has the role ADMIN. Any program that runs as you can read it, and can then " +
  "create, change and delete every key. For daily work, log in with a key that has fewer rights.";

function describePermissions(permissions: readonly string[]): string {
  if (permissions.length <= MAX_LISTED) return permissions.join(", ");
  const byAction = Map.groupBy(permissions, (pair) => pair.replace(/^.*:/, ""));
  return [...byAction].map(([action, pairs]) => {
    return pairs.length === 1 ? pairs.join() : `${action} on ${pairs.length} resources`;
  }).join(", ");
}

/**
 * Returns the changes to make to the profile. If the profile had another server or a store, these include the removal
 * of the settings that were only for that server or store.
 */
function changesFor(
  name: string,
  server: string,
  { keyHeader, header, caFile, allowHttp }: LoginFlags,
  { headers, ignored }: EffectiveSettings,
  host: Host,
): Changes {
  const membersToRemove = PROFILE_SETTINGS.map(({ member, belongsToServer }) => belongsToServer ? member : undefined)
    .filter((member) => ignored.some((setting) => setting.member === member));
  return {
    ...Object.fromEntries(membersToRemove.map((member) => [member, undefined])),
    "base-url": server,
    "key-file": keyFileOf(name),
    ...(keyHeader === undefined ? {} : { "key-header": keyHeader }),
    ...(header === undefined ? {} : { headers: Object.fromEntries(headers.map(nameAndValue)) }),
    ...(caFile === undefined ? {} : { "ca-file": resolvePath(caFile, `${Deno.cwd()}/`, host) }),
    ...(allowHttp ? { "allow-http": true } : {}),
  };
}

function nameAndValue({ value: line }: SourcedSetting): [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}

interface NewProfile {
  readonly file: ConfigPath;
  readonly name: string;
  readonly changes: Changes;
  readonly key: string;
  /** Whether the profile had a different server, or none. */
  readonly isNewServer: boolean;
}

/**
 * Stores the key and the profile. For a new server, first removes the old key, so that the profile never combines a
 * server with the key of another server.
 */
async function storeProfile({ file, name, changes, key, isNewServer }: NewProfile, host: Host): Promise<void> {
  const { stageChanges } = await import("#config-document");
  const keyPath = `${directoryOf(file.path, host)}${keyFileOf(name)}`;
  const stagedKey = await stageFile(keyPath, `${key}\n`, 0o600, host);
  let stagedConfig: StagedFile | undefined;
  try {
    stagedConfig = await stageChanges(file, name, changes, host);
    if (isNewServer) await removeFile(keyPath);
    await stagedConfig.commit();
    await stagedKey.commit();
  } finally {
    await Promise.all([stagedKey.discard(), stagedConfig?.discard()]);
  }
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
