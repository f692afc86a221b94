/** The settings in effect and their sources, without secrets. */
import { isWellFormedSecret, maskSecret, secretTail } from "../../apikey/secret.ts";
import type { Host } from "../host/host.ts";
import { readDataDir } from "../settings/data_dir.ts";
import { maskDatabaseUrl } from "../settings/database_url.ts";
import type { Profile, SourcedSetting } from "../settings/setting.ts";
import { SETTINGS } from "../settings/table.ts";
import type { EffectiveSettings } from "./effective_settings.ts";

export interface SettingRow {
  readonly name: string;
  /** `null` if the setting is not set and no default takes effect. */
  readonly value: string | null;
  readonly source: SourcedSetting["source"] | "default";
  /** The flag, the variable, or `path:line:column`; `null` for a default. */
  readonly from: string | null;
  /** Why the setting does not take effect. */
  readonly ignored?: string;
}

/**
 * Returns a row for each setting. The values of settings that may contain a secret are masked, even if they are not
 * valid.
 *
 * @param key the key, if it is known
 */
export function settingRows(
  settings: EffectiveSettings,
  key: SourcedSetting | undefined,
  host: Host,
): readonly SettingRow[] {
  const { config: { file, profileSetting, profile }, baseUrl, headers, ignored } = settings;
  const logLevel = host.env("LOG_LEVEL");
  return [
    file?.setting ? row("config-file", file.setting) : defaultRow("config-file", file?.path ?? null),
    profileSetting ? row("profile", profileSetting) : defaultRow("profile", profile?.name ?? null),
    row("base-url", baseUrl, baseUrl && maskUrl("base-url", baseUrl.value)),
    row("key", key, key && maskKey(key.value)),
    row("key-file", settings.keyFile),
    row("key-header", settings.keyHeader, undefined, "Authorization"),
    ...headers.length === 0 ? [defaultRow("headers", null)] : headers.map(headerRow),
    row("allow-http", settings.allowHttp, undefined, SETTINGS.allowHttp.default),
    row("ca-file", settings.caFile),
    row("timeout", settings.timeout, undefined, SETTINGS.timeout.default),
    row("max-response-size", settings.maxResponseSize, undefined, SETTINGS.maxResponseSize.default),
    ...storeRows(settings, host),
    logLevel === undefined
      ? defaultRow("log-level", "warn")
      : { name: "log-level", value: logLevel, source: "variable", from: "LOG_LEVEL" },
    ...ignored.map(({ member, setting, reason }): SettingRow => {
      const shown = member === "headers" ? headerRow(setting) : row(member, setting, maskUrl(member, setting.value));
      return { ...shown, ignored: reason };
    }),
  ];
}

function storeRows({ baseUrl, dataDir, databaseUrl }: EffectiveSettings, host: Host): readonly SettingRow[] {
  const usesDataDir = baseUrl === undefined && databaseUrl === undefined;
  return [
    row("data-dir", dataDir, undefined, usesDataDir ? readDataDir(dataDir, host) : null),
    row("database-url", databaseUrl, databaseUrl && maskDatabaseUrl(databaseUrl.value)),
  ];
}

function row(
  name: string,
  setting: SourcedSetting | undefined,
  masked: string | undefined = setting?.value,
  fallback: string | null = null,
): SettingRow {
  if (setting === undefined) return defaultRow(name, fallback);
  return { name, value: masked ?? setting.value, source: setting.source, from: setting.from };
}

function defaultRow(name: string, value: string | null): SettingRow {
  return { name, value, source: "default", from: null };
}

/** The row of a header. Masks the value, because it may be a secret. A line without a colon has no name. */
function headerRow(setting: SourcedSetting): SettingRow {
  const [, name] = /^([^:]*):/.exec(setting.value) ?? [];
  return row(name === undefined ? "headers" : `headers.${name.trim()}`, setting, "…");
}

function maskKey(key: string): string {
  return isWellFormedSecret(key) ? maskSecret(secretTail(key)) : "…";
}

/** Returns the server or store of a profile, without secrets; `undefined` if the profile names none. */
export function describeServer({ values }: Profile): string | undefined {
  const [setting] = (["baseUrl", "databaseUrl", "dataDir"] as const).flatMap((key) => {
    const value = values.get(key)?.value;
    return value === undefined ? [] : [maskUrl(SETTINGS[key].member, value)];
  });
  return setting;
}

/** A setting that is not validated may have a URL that contains a secret. */
function maskUrl(member: string, value: string): string {
  if (member === "base-url") return /[@?#]/.test(value) ? "…" : value;
  return member === "database-url" ? maskDatabaseUrl(value) : value;
}
