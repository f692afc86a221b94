/**
 * Resolves the settings that take effect. A flag wins over its variable, and the variable wins over the profile. If a
 * profile names a server or a store, the key and headers of the profile are never sent to a different server.
 */
import { Failure, quote } from "../../apikey/failure.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import { parseBaseUrl } from "../settings/base_url.ts";
import { type Config, otherProfiles, readConfig } from "../config_file/read.ts";
import type { ServerFlags } from "../settings/server_flags.ts";
import { chooseSetting, precedenceOf, type Profile, settingFrom, type SourcedSetting } from "../settings/setting.ts";
import { chooseStore, type StoreSettings } from "../settings/store_location.ts";
import { flagOf, PROFILE_SETTINGS, SETTINGS } from "../settings/table.ts";

/** The settings that take effect, as text that is not validated yet. */
export interface EffectiveSettings extends StoreSettings {
  readonly config: Config;
  /** The URL of the server; `undefined` for the embedded server. */
  readonly baseUrl: SourcedSetting | undefined;
  /** The key. */
  readonly key: SourcedSetting | undefined;
  /** The file that contains the key. Never set together with `key`. */
  readonly keyFile: SourcedSetting | undefined;
  readonly keyHeader: SourcedSetting | undefined;
  /** Each value has the form `Name: value`. */
  readonly headers: readonly SourcedSetting[];
  /** `true` or `false`. */
  readonly allowHttp: SourcedSetting | undefined;
  readonly caFile: SourcedSetting | undefined;
  readonly timeout: SourcedSetting | undefined;
  readonly maxResponseSize: SourcedSetting | undefined;
  /** Settings that are set but do not take effect. */
  readonly ignored: readonly IgnoredSetting[];
  /** Why the profile's server or store is not used; `undefined` if it is used, or if the profile has none. */
  readonly profileServerIgnoredBecause: string | undefined;
}

/** A setting that is set but does not take effect. */
export interface IgnoredSetting {
  /** The name of the setting in the config file. */
  readonly member: string;
  readonly setting: SourcedSetting;
  readonly reason: string;
}

/**
 * Reads the config file and resolves the settings. Warns if the user names a profile but its server or store is not used.
 * At a terminal, also warns if no profile is selected but the file has some. Scripts may want the local store.
 *
 * @throws {Failure} `USAGE` if the config file is invalid, or if flags or variables contradict each other
 */
export async function readEffectiveSettings(flags: ServerFlags, host: Host, log: Log): Promise<EffectiveSettings> {
  const settings = resolveSettings(flags, host, await readConfig(flags, host));
  const { config: { profileSetting, profile }, baseUrl, dataDir, databaseUrl, profileServerIgnoredBecause } = settings;
  if (profileSetting !== undefined && profileServerIgnoredBecause !== undefined) {
    // A user who names a profile expects to use its server or store.
    log.warn("The server or store of profile {profile} is not used: {reason}. To use the profile's, {remedy}.", {
      profile: quote(profile?.name ?? ""),
      reason: profileServerIgnoredBecause,
      remedy: remedyAgainst(overridingSettings(flags, host)),
    });
  }
  const others = (baseUrl ?? dataDir ?? databaseUrl) === undefined ? otherProfiles(settings.config) : "";
  if (others !== "" && host.stderr.isTerminal()) {
    log.warn("No profile is selected, so this uses the local store. {others}", { others });
  }
  for (const { member, setting, reason } of settings.ignored) {
    log.debug("{member} from {from} is ignored: {reason}", { member, from: setting.from, reason });
  }
  return settings;
}

/** Returns the flags and the set variables that win over the server or store of a profile. */
function overridingSettings(flags: ServerFlags, host: Host): readonly SourcedSetting[] {
  return (["baseUrl", "dataDir", "databaseUrl"] as const).flatMap((key) => {
    const { variable } = SETTINGS[key];
    const [flag, value] = [flags[key], host.env(variable)];
    return [
      ...(flag === undefined ? [] : [settingFrom("flag", flagOf(key), flag)]),
      ...(value === undefined ? [] : [settingFrom("variable", variable, value)]),
    ];
  });
}

/** Returns, for example, `omit --data-dir and unset SERVICE_API_URL`. */
function remedyAgainst(settings: readonly SourcedSetting[]): string {
  return ([["omit", "flag"], ["unset", "variable"]] as const).flatMap(([verb, wanted]) => {
    const names = settings.filter(({ source }) => source === wanted).map(({ from }) => from);
    return names.length === 0 ? [] : [`${verb} ${names.join(" and ")}`];
  }).join(" and ");
}

/**
 * Resolves flags, variables and the profile.
 *
 * @throws {Failure} `USAGE` if flags or variables contradict each other
 */
export function resolveSettings(flags: ServerFlags, host: Host, config: Config): EffectiveSettings {
  if (flags.baseUrl !== undefined && (flags.dataDir !== undefined || flags.databaseUrl !== undefined)) {
    throw new Failure(
      "USAGE",
      "--base-url selects a server; --data-dir and --database-url select a local store. Use only one of them.",
    );
  }
  const { profile } = config;
  const selectedUrl = chooseSetting("baseUrl", flags, host, profile);
  const store = chooseStore(flags, host, profile);
  const storeSetting = store.databaseUrl ?? store.dataDir;
  const baseUrl = precedenceOf(storeSetting) > precedenceOf(selectedUrl) ? undefined : selectedUrl;

  const reason = reasonToIgnoreProfile(profile, baseUrl, storeSetting);
  const usableProfile = reason === undefined ? profile : withoutServerSettings(profile);
  const ignoredOfProfile = reason === undefined || profile === undefined
    ? []
    : serverSettingsOf(profile).map((setting) => ({ ...setting, reason }));
  const overridden = baseUrl === undefined
    ? toIgnoredSettings({ "base-url": selectedUrl }, `${storeSetting?.from} selects a store`)
    : toIgnoredSettings(
      { "data-dir": store.dataDir, "database-url": store.databaseUrl },
      `${baseUrl.from} selects a server`,
    );

  return {
    config,
    baseUrl,
    ...(baseUrl === undefined ? store : { dataDir: undefined, databaseUrl: undefined }),
    ...chooseKey(flags, host, usableProfile),
    keyHeader: chooseSetting("keyHeader", flags, host, usableProfile),
    headers: chooseHeaders(flags.header ?? [], usableProfile?.headers ?? []),
    allowHttp: flags.allowHttp ? settingFrom("flag", "--allow-http", "true") : usableProfile?.values.get("allowHttp"),
    caFile: chooseSetting("caFile", flags, host, usableProfile),
    timeout: chooseSetting("timeout", flags, host, profile),
    maxResponseSize: chooseSetting("maxResponseSize", flags, host, profile),
    ignored: [...overridden, ...ignoredOfProfile],
    profileServerIgnoredBecause: reason,
  };
}

/** Returns why the profile's server or store is not used; `undefined` if it is used, or if the profile has none. */
function reasonToIgnoreProfile(
  profile: Profile | undefined,
  baseUrl: SourcedSetting | undefined,
  store: SourcedSetting | undefined,
): string | undefined {
  const profileUrl = profile?.values.get("baseUrl");
  if (profileUrl === undefined) {
    const hasStore = profile?.values.has("dataDir") || profile?.values.has("databaseUrl");
    if (!hasStore) return undefined;
    if (baseUrl !== undefined) return `${baseUrl.from} selects a server`;
    return store?.source === "file" ? undefined : `${store?.from} selects another store`;
  }
  if (baseUrl === undefined) return `${store?.from} selects a store`;
  const [used, own] = [baseUrl, profileUrl].map((url) => parseBaseUrl(url, { allowHttp: true }).href);
  return used === own ? undefined : `${baseUrl.from} selects another server`;
}

/** Returns the settings of a profile that apply only to the server of the profile. */
function serverSettingsOf(profile: Profile): readonly Omit<IgnoredSetting, "reason">[] {
  return PROFILE_SETTINGS.filter(({ belongsToServer }) => belongsToServer).flatMap(({ key, member }) => {
    const settings = key === "header" ? profile.headers : [profile.values.get(key)];
    return settings.flatMap((setting) => setting === undefined ? [] : [{ member, setting }]);
  });
}

function withoutServerSettings(profile: Profile | undefined): Profile | undefined {
  if (profile === undefined) return undefined;
  const removed = serverSettingsOf(profile).map(({ setting }) => setting);
  return {
    ...profile,
    values: new Map([...profile.values].filter(([, value]) => !removed.includes(value))),
    headers: [],
  };
}

function toIgnoredSettings(
  settings: Readonly<Record<string, SourcedSetting | undefined>>,
  reason: string,
): readonly IgnoredSetting[] {
  return Object.entries(settings).flatMap(([member, setting]) => setting ? [{ member, setting, reason }] : []);
}

function chooseKey(
  flags: ServerFlags,
  host: Host,
  profile: Profile | undefined,
): Pick<EffectiveSettings, "key" | "keyFile"> {
  const key = host.env("SERVICE_API_KEY");
  const keyFile = chooseSetting("keyFile", flags, host, profile);
  if (key === undefined || keyFile?.source === "flag") return { key: undefined, keyFile };
  if (keyFile?.source === "variable") {
    throw new Failure("USAGE", "SERVICE_API_KEY and SERVICE_API_KEY_FILE are both set. Unset one of them.");
  }
  return { key: settingFrom("variable", "SERVICE_API_KEY", key), keyFile: undefined };
}

/**
 * Returns the headers from the flags, and those headers from the profile whose names no flag sets.
 */
function chooseHeaders(
  lines: readonly string[],
  profileHeaders: readonly SourcedSetting[],
): readonly SourcedSetting[] {
  const flagHeaders = lines.map((line) => settingFrom("flag", "--header", line));
  const names = flagHeaders.map(headerName);
  return [...flagHeaders, ...profileHeaders.filter((header) => !names.includes(headerName(header)))];
}

/** Returns the name in `Name: value`, in lower case. */
function headerName({ value }: SourcedSetting): string {
  return value.replace(/:.*/s, "").trim().toLowerCase();
}
