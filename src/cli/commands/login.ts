/** `login`: asks for a server and a key, tries them, and stores them as a profile. */
import type { Command } from "@commander-js/extra-typings";
import { Failure, quote } from "../../apikey/failure.ts";
import { canPrompt, type PromptFlags } from "../host/can_prompt.ts";
import type { Session } from "../command.ts";
import { withClientOf } from "../connection/connection.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import type { Prompts } from "../prompts/prompts.ts";
import { parseBaseUrl } from "../settings/base_url.ts";
import { readConfigFile } from "../config_file/read.ts";
import { chooseConfigPath, type ConfigPath, directoryOf, lockOf, resolvePath, storedKey } from "../config_file/path.ts";
import type { Changes } from "../config_file/edit.ts";
import { parseKey, readKey } from "../connection/headers.ts";
import { decideInForce, type InForce } from "../connection/settings_in_force.ts";
import { removeFile, type StagedFile, stageFile, withLock } from "../config_file/private_file.ts";
import { checkProfileName } from "../settings/profile_name.ts";
import { type AddressFlags, withAddressFlags, withProfileFlags } from "../settings/server_flags.ts";
import { choose, given, type GivenSetting, type Profile } from "../settings/setting.ts";
import { checkSettings } from "../connection/settings.ts";
import { MEMBERS } from "../settings/table.ts";

/** Declares the command. */
export function registerLogin(command: Command, { host, log, setExitCode }: Session): void {
  const withOwnFlags = command
    .description("Ask for a server and a key, try the key, and store both as a profile of the\nconfig file.")
    .optionsGroup("Prompts:")
    .option("--no-input", "ask nothing: what is missing is an error");
  withProfileFlags(withAddressFlags(withOwnFlags))
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await login(flags, host, log, openTerminalQuestions)));
}

/** The flags of the command, as they were typed. */
export interface LoginFlags extends AddressFlags, Pick<PromptFlags, "input"> {}

async function openTerminalQuestions(host: Host): Promise<Prompts> {
  return (await import("#prompts")).openPrompts(host);
}

/**
 * Stores a key and its server.
 *
 * @param openPrompts called when something is missing, and somebody can be asked for it
 * @throws {Failure} of any kind; nothing was stored, unless it is `FAILED`
 */
export async function login(
  flags: LoginFlags,
  host: Host,
  log: Log,
  openPrompts: (host: Host) => Promise<Prompts>,
): Promise<ExitCode> {
  const path = chooseConfigPath(flags, host);
  if (path === undefined) {
    throw new Failure("USAGE", "There is no home directory to have a config file in: name one with --config.");
  }
  // One that is named need not be there yet.
  const file: ConfigPath = { ...path, named: undefined };
  const profiles = (await readConfigFile(file, host))?.profiles ?? new Map<string, Profile>();
  const named = choose("profile", flags, host);
  const name = named?.value ?? "default";
  checkProfileName(name, named?.name ?? "--profile", [...profiles.keys()]);
  const old = profiles.get(name);

  let prompts: Promise<Prompts> | undefined;
  const ask = async (what: string, flag: string): Promise<Prompts> => {
    if (canPrompt(flags, host)) return await (prompts ??= openPrompts(host));
    throw new Failure("USAGE", `There is no ${what}, and nobody to ask for it: give ${flag}.`);
  };
  const address = choose("baseUrl", flags, host) ??
    given("flag", "The server", await askBaseUrl(await ask("server", "--base-url"), flags, old));
  const asked = address.source === "variable" ? flags : { ...flags, baseUrl: address.value };
  const decided = decideInForce(asked, host, { file: path, named, profile: old });
  const key = await readNewKey(decided, host) ?? await askKey(await ask("key", "--key-file (-: standard input)"));
  const inForce: InForce = { ...decided, key, keyFile: undefined };

  const settings = await checkSettings(inForce, host, log);
  const caller = await withClientOf(settings, host, log)(async (connect) => await (await connect()).identify());
  const endpoint = parseBaseUrl(address.value, address.name, true).href;
  const server = endpoint.replace(/\/graphql$/, "");
  const changes = changesFor(name, server, flags, inForce, host);
  const profile = { file, name, changes, key: key.value, isNewServer: endpointOf(old) !== endpoint };
  await withLock(lockOf(file), host, () => store(profile, host));
  await host.stdout.write(
    `Logged in to ${server}${caller === undefined ? "" : ` as ${quote(caller.name)} (${caller.id})`}.\n`,
  );
  await tellWhatWins(address, key, host);
  return ExitCode.OK;
}

/** What the profile says of plain HTTP holds for its own server. */
async function askBaseUrl(prompts: Prompts, flags: LoginFlags, old: Profile | undefined): Promise<string> {
  const initial = old?.values.get("baseUrl")?.value;
  const check = (typed: string): void => {
    const isOld = parseBaseUrl(typed, "The server", true).href === endpointOf(old);
    const allowHttp = flags.allowHttp || isOld && old?.values.get("allowHttp")?.value === "true";
    parseBaseUrl(typed, "The server", allowHttp ?? false);
  };
  return await prompts.text({
    label: "Server",
    hint: "such as https://keys.example.com",
    ...(initial === undefined ? {} : { initial }),
    check,
  });
}

/** The profile's server, if it names one as it should. */
function endpointOf(profile: Profile | undefined): string | undefined {
  const url = profile?.values.get("baseUrl")?.value;
  try {
    return url && parseBaseUrl(url, "base-url", true).href;
  } catch {
    return undefined;
  }
}

/** The key of a flag or variable: the one that is stored is to be replaced. */
async function readNewKey(decided: InForce, host: Host): Promise<GivenSetting | undefined> {
  return decided.keyFile?.source === "file" ? undefined : await readKey(decided, host);
}

async function askKey(prompts: Prompts): Promise<GivenSetting> {
  const check = (typed: string): void => void parseKey(typed, "The answer");
  return given("flag", "The key", parseKey(await prompts.secret({ label: "API key", check }), "The answer"));
}

/** What becomes of the profile. With another server goes what was meant for the old one. */
function changesFor(
  name: string,
  server: string,
  { keyHeader, header, caFile, allowHttp }: LoginFlags,
  { headers, ignored }: InForce,
  host: Host,
): Changes {
  const ofOldServer = ignored.map(({ member }) => member).filter((left) =>
    MEMBERS.some(({ member, ofServer }) => ofServer && member === left)
  );
  return {
    ...Object.fromEntries(ofOldServer.map((member) => [member, undefined])),
    "base-url": server,
    "key-file": storedKey(name),
    ...(keyHeader === undefined ? {} : { "key-header": keyHeader }),
    ...(header === undefined ? {} : { headers: Object.fromEntries(headers.map(nameAndValue)) }),
    ...(caFile === undefined ? {} : { "ca-file": resolvePath(caFile, `${Deno.cwd()}/`, host) }),
    ...(allowHttp ? { "allow-http": true } : {}),
  };
}

function nameAndValue({ value: line }: GivenSetting): [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}

interface NewProfile {
  readonly file: ConfigPath;
  readonly name: string;
  readonly changes: Changes;
  readonly key: string;
  /** Whether the profile named another server before, or none. */
  readonly isNewServer: boolean;
}

/** Stores the key and the profile: at no moment does the profile lead one server's key to another server. */
async function store({ file, name, changes, key, isNewServer }: NewProfile, host: Host): Promise<void> {
  const { stageChanges } = await import("#config-document");
  const keyPath = `${directoryOf(file.path, host)}${storedKey(name)}`;
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

/** Variables win over what is stored now, which is a surprise to whoever has forgotten them. */
async function tellWhatWins(server: GivenSetting, key: GivenSetting, host: Host): Promise<void> {
  const isSet = (name: string): boolean => host.env(name) !== undefined;
  const url = host.env("SERVICE_API_URL");
  const winning = [
    ...url === undefined
      ? ["SERVICE_API_DATA_DIR", "SERVICE_API_DATABASE_URL"].filter(isSet)
      : ["SERVICE_API_URL"].filter(() => url !== server.value),
    ...["SERVICE_API_KEY", "SERVICE_API_KEY_FILE"].filter((name) => isSet(name) && key.from !== name),
  ];
  for (const name of winning) {
    // deno-lint-ignore no-await-in-loop -- one line after the other
    await host.stderr.write(`${name} is set and wins over what is stored now: unset it to use that.\n`);
  }
}

const NOTES = `
The key is stored in keys/<profile>.key beside the config file, for you alone to
read. Nothing is stored when the server does not take it.

Examples:
  service-api login
  service-api login --profile staging --base-url https://keys.example.com
  echo "$KEY" | service-api login --base-url https://keys.example.com \\
    --key-file -
${EXIT_STATUS}`;
