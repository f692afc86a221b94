/** The profile that `login` stores. */
import { Failure, quote } from "../../../apikey/failure.ts";
import type { Changes } from "../../config_file/edit.ts";
import { keyFileUse, newKeyFile } from "../../config_file/key_file.ts";
import { type ConfigPath, directoryOf, resolvePath } from "../../config_file/path.ts";
import { readConfigFile } from "../../config_file/read.ts";
import { removeFile, type StagedFile, stageFile } from "../../config_file/private_file.ts";
import type { EffectiveSettings } from "../../connection/effective_settings.ts";
import type { Host } from "../../host/host.ts";
import { parseBaseUrl } from "../../settings/base_url.ts";
import type { AddressFlags } from "../../settings/server_flags.ts";
import type { Profile, SourcedSetting } from "../../settings/setting.ts";
import { PROFILE_SETTINGS } from "../../settings/table.ts";

/** The GraphQL endpoint of the profile's server; `undefined` if its base-url is missing or invalid. */
export function endpointOf(profile: Profile | undefined): string | undefined {
  const url = profile?.values.get("baseUrl");
  try {
    return url && parseBaseUrl(url, { allowHttp: true }).href;
  } catch {
    return undefined;
  }
}

/**
 * Returns the changes to make to the profile. If the profile had another server or a store, these include the removal
 * of the settings that were only for that server or store, except the key.
 *
 * @param newServer the URL of the server if it changes
 * @param keyFile the key file if it changes, relative to the config file
 */
export function changesFor(
  newServer: string | undefined,
  keyFile: string | undefined,
  { keyHeader, header, caFile, allowHttp }: AddressFlags,
  { headers, ignored }: EffectiveSettings,
  host: Host,
): Changes {
  const membersToRemove = PROFILE_SETTINGS.map(({ member, belongsToServer }) => belongsToServer ? member : undefined)
    .filter((member) => member !== "key-file" && ignored.some((setting) => setting.member === member));
  return {
    ...Object.fromEntries(membersToRemove.map((member) => [member, undefined])),
    ...(newServer === undefined ? {} : { "base-url": newServer }),
    ...(keyFile === undefined ? {} : { "key-file": keyFile }),
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

export interface NewProfile {
  readonly file: ConfigPath;
  readonly name: string;
  /** The profile before. */
  readonly oldProfile: Profile | undefined;
  readonly changes: Changes;
  /** The key and the file to write it to. `undefined` keeps the key file of the profile. */
  readonly key: { readonly value: string; readonly path: string } | undefined;
  /** Whether the profile had a different server, or none. */
  readonly isNewServer: boolean;
}

/**
 * Stores the key and the profile. For a new server and a new key, first removes the old key, so that the profile never
 * combines a server with the key of another server.
 *
 * @throws {Failure} `FAILED` if the profile keeps its server or its key, and another process has changed them meanwhile
 */
export async function storeProfile(profile: NewProfile, host: Host): Promise<void> {
  const { file, name, oldProfile, changes, key, isNewServer } = profile;
  if (!isNewServer || key === undefined) await checkUnchanged(oldProfile, file, name, host);
  const { stageChanges } = await import("#config-document");
  const stagedKey = key && await stageFile(key.path, `${key.value}\n`, 0o600, host);
  let stagedConfig: StagedFile | undefined;
  try {
    stagedConfig = await stageChanges(file, name, changes, host);
    if (isNewServer && key !== undefined) await removeFile(key.path);
    await stagedConfig.commit();
    await stagedKey?.commit();
  } finally {
    await Promise.all([stagedKey?.discard(), stagedConfig?.discard()]);
  }
}

/** Where `login` stores the key of a profile. */
export interface NewKeyFile {
  readonly path: string;
  /** The file relative to the config file; `undefined` if it is already the key file of the profile. */
  readonly setting: string | undefined;
}

/** Chooses the file for the key. Replaces only a file in `keys` that the profile uses, and no other profile. */
export async function chooseKeyFile(name: string, file: ConfigPath, host: Host): Promise<NewKeyFile> {
  const profiles = (await readConfigFile(file, host))?.profiles ?? new Map<string, Profile>();
  const use = await keyFileUse(name, { file, profiles }, host);
  if (use?.isInKeys && use.others.length === 0) return { path: use.path, setting: undefined };
  const setting = await newKeyFile(name, { file, profiles }, host);
  return { path: `${directoryOf(file.path, host)}${setting}`, setting };
}

async function checkUnchanged(
  oldProfile: Profile | undefined,
  file: ConfigPath,
  name: string,
  host: Host,
): Promise<void> {
  const profile = (await readConfigFile(file, host))?.profiles.get(name);
  const isSame = (setting: "baseUrl" | "keyFile"): boolean =>
    profile?.values.get(setting)?.value === oldProfile?.values.get(setting)?.value;
  if (isSame("baseUrl") && isSame("keyFile")) return;
  throw new Failure(
    "FAILED",
    `Another login or logout changed the profile ${quote(name)} meanwhile. Run the same command again.`,
  );
}
