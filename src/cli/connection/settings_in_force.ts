/**
 * Which of the values that are given are in force: a flag before a variable before the profile, for one server or one
 * store. A profile is one server and what goes with it: its key and headers are shown to no other.
 */
import { Failure } from "../../apikey/failure.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import { parseBaseUrl } from "../settings/base_url.ts";
import { type Config, readConfig } from "../config_file/read.ts";
import type { ServerFlags } from "../settings/server_flags.ts";
import { choose, given, type GivenSetting, type Profile, rank } from "../settings/setting.ts";
import { chooseStore, type StoreChoice } from "../settings/store_location.ts";
import { MEMBERS } from "../settings/table.ts";

/** Settings as they were given, not yet checked. */
export interface InForce extends StoreChoice {
  readonly config: Config;
  /** `undefined`: the embedded server. */
  readonly baseUrl: GivenSetting | undefined;
  /** The key itself. */
  readonly key: GivenSetting | undefined;
  /** The file that it is in; never together with `key`. */
  readonly keyFile: GivenSetting | undefined;
  readonly keyHeader: GivenSetting | undefined;
  /** The values are `Name: value`. */
  readonly headers: readonly GivenSetting[];
  /** `true` or `false`. */
  readonly allowHttp: GivenSetting | undefined;
  readonly caFile: GivenSetting | undefined;
  readonly timeout: GivenSetting | undefined;
  readonly ignored: readonly IgnoredSetting[];
  /** Why the server or store of the profile is not the one that is asked; `undefined`: it is, or there is none. */
  readonly whyNotProfile: string | undefined;
}

/** A setting that is given and not in force. */
export interface IgnoredSetting {
  /** Its name in the config file. */
  readonly member: string;
  readonly setting: GivenSetting;
  /** What it had to give way to. */
  readonly why: string;
}

/**
 * Reads the config file and decides.
 *
 * @throws {Failure} `USAGE`
 */
export async function readInForce(flags: ServerFlags, host: Host, log: Log): Promise<InForce> {
  const inForce = decideInForce(flags, host, await readConfig(flags, host));
  const { config: { named, profile }, whyNotProfile } = inForce;
  if (named !== undefined && whyNotProfile !== undefined) {
    // Whoever names a profile expects its server.
    log.warn("The server of the profile {profile} is not asked: {why}, which wins over {named}", {
      profile: profile?.name,
      why: whyNotProfile,
      named: named.from,
    });
  }
  for (const { member, setting, why } of inForce.ignored) {
    log.debug("{member} of {from} is left out: {why}", { member, from: setting.from, why });
  }
  return inForce;
}

/** @throws {Failure} `USAGE` when flags or variables contradict each other */
export function decideInForce(flags: ServerFlags, host: Host, config: Config): InForce {
  if (flags.baseUrl !== undefined && (flags.dataDir !== undefined || flags.databaseUrl !== undefined)) {
    throw new Failure("USAGE", "--base-url names a server, --data-dir and --database-url a store: give one of them.");
  }
  const { profile } = config;
  const named = choose("baseUrl", flags, host, profile);
  const store = chooseStore(flags, host, profile);
  const storeSetting = store.databaseUrl ?? store.dataDir;
  const baseUrl = rank(storeSetting) > rank(named) ? undefined : named;

  const why = whyAnotherServer(profile, baseUrl, storeSetting);
  const mine = why === undefined ? profile : withoutServer(profile);
  const ignored = why === undefined || profile === undefined
    ? []
    : membersOfServer(profile).map((left) => ({ ...left, why }));
  const gaveWay = baseUrl === undefined
    ? ignore({ "base-url": named }, `${storeSetting?.from} names a store`)
    : ignore({ "data-dir": store.dataDir, "database-url": store.databaseUrl }, `${baseUrl.from} names a server`);

  return {
    config,
    baseUrl,
    ...(baseUrl === undefined ? store : { dataDir: undefined, databaseUrl: undefined }),
    ...chooseKey(flags, host, mine),
    keyHeader: choose("keyHeader", flags, host, mine),
    headers: chooseHeaders(flags.header ?? [], mine?.headers ?? []),
    allowHttp: flags.allowHttp ? given("flag", "--allow-http", "true") : mine?.values.get("allowHttp"),
    caFile: choose("caFile", flags, host, mine),
    timeout: choose("timeout", flags, host, profile),
    ignored: [...gaveWay, ...ignored],
    whyNotProfile: why,
  };
}

/** Why the profile's server is not the one that is asked; `undefined`: it is, or the profile names none. */
function whyAnotherServer(
  profile: Profile | undefined,
  baseUrl: GivenSetting | undefined,
  store: GivenSetting | undefined,
): string | undefined {
  const own = profile?.values.get("baseUrl");
  if (own === undefined) {
    const isOfStore = profile?.values.has("dataDir") || profile?.values.has("databaseUrl");
    if (!isOfStore) return undefined;
    if (baseUrl !== undefined) return `${baseUrl.from} names a server`;
    return store?.source === "file" ? undefined : `${store?.from} names another store`;
  }
  if (baseUrl === undefined) return `${store?.from} names a store`;
  const [asked, owned] = [baseUrl, own].map(({ value, name }) => parseBaseUrl(value, name, true).href);
  return asked === owned ? undefined : `${baseUrl.from} names another server`;
}

function membersOfServer(profile: Profile): readonly Omit<IgnoredSetting, "why">[] {
  return MEMBERS.filter(({ ofServer }) => ofServer).flatMap(({ key, member }) => {
    const settings = key === "header" ? profile.headers : [profile.values.get(key)];
    return settings.flatMap((setting) => setting === undefined ? [] : [{ member, setting }]);
  });
}

function withoutServer(profile: Profile | undefined): Profile | undefined {
  if (profile === undefined) return undefined;
  const ofServer = membersOfServer(profile).map(({ setting }) => setting);
  return { ...profile, values: new Map([...profile.values].filter(([, set]) => !ofServer.includes(set))), headers: [] };
}

function ignore(settings: Readonly<Record<string, GivenSetting | undefined>>, why: string): readonly IgnoredSetting[] {
  return Object.entries(settings).flatMap(([member, setting]) => setting ? [{ member, setting, why }] : []);
}

function chooseKey(flags: ServerFlags, host: Host, profile: Profile | undefined): Pick<InForce, "key" | "keyFile"> {
  const direct = host.env("SERVICE_API_KEY");
  const keyFile = choose("keyFile", flags, host, profile);
  if (direct === undefined || keyFile?.source === "flag") return { key: undefined, keyFile };
  if (keyFile?.source === "variable") {
    throw new Failure("USAGE", "SERVICE_API_KEY and SERVICE_API_KEY_FILE are both set: unset one of them.");
  }
  return { key: given("variable", "SERVICE_API_KEY", direct), keyFile: undefined };
}

/** Those of the flags, and those of the profile that have other names. */
function chooseHeaders(lines: readonly string[], ofProfile: readonly GivenSetting[]): readonly GivenSetting[] {
  const typed = lines.map((line) => given("flag", "--header", line));
  const names = typed.map(headerName);
  return [...typed, ...ofProfile.filter((header) => !names.includes(headerName(header)))];
}

/** The name in `Name: value`, in lower case. */
export function headerName({ value }: GivenSetting): string {
  return value.replace(/:.*/s, "").trim().toLowerCase();
}
