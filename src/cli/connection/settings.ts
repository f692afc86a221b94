/**
 * The validated settings of a connection: the server, the headers with the key, and the limits. Code that uses
 * them never sees the text of a flag, a variable or the config file.
 */
import * as z from "zod/mini";
import { quote } from "../../apikey/failure.ts";
import type { StoreLocation } from "#server";
import type { KeySource } from "../host/dialog.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import { parseBaseUrl } from "../settings/base_url.ts";
import { readTimeout } from "../settings/duration.ts";
import { readHeaders } from "./headers.ts";
import { type EffectiveSettings, readEffectiveSettings } from "./effective_settings.ts";
import { keySourceOf, loginCommandOf } from "./key_source.ts";
import { sizeSchema } from "../settings/number.ts";
import { parseSetting } from "../settings/schema.ts";
import type { ServerFlags } from "../settings/server_flags.ts";
import { orDefault, readSettingFile, type Setting } from "../settings/setting.ts";
import { readStoreLocation } from "../settings/store_location.ts";

export interface Settings {
  readonly server: NetworkServer | EmbeddedServer;
  /** What selects the server or store, for messages: a flag, a variable, `profile "NAME"`, or `default`. */
  readonly selectedBy: string;
  /** Where the user has set the URL of the server, for messages: a flag, a variable, or `the base-url of profile "NAME"`. */
  readonly urlSetting: string | undefined;
  /** The headers of every request, including the one with the key. */
  readonly headers: ReadonlyMap<string, string>;
  /** Where the key in the headers comes from; `undefined` if there is none, or if it is not stored. */
  readonly keySource: KeySource | undefined;
  /** The command that stores a key in the profile that the user has selected. */
  readonly loginCommand: string;
  /** Milliseconds. */
  readonly timeout: number;
  /** Bytes, after decompression. */
  readonly maxResponseSize: number;
}

/** A string of V8 cannot hold more than 536 MB. */
const LARGEST_RESPONSE_MB = 500;

export interface NetworkServer {
  readonly kind: "network";
  /** `{base_url}/graphql`. */
  readonly endpoint: URL;
  /** CA certificates (PEM) that replace the system's. */
  readonly caCertificates: string | undefined;
}

export interface EmbeddedServer {
  readonly kind: "embedded";
  readonly location: StoreLocation;
}

/**
 * Reads and validates the settings.
 *
 * @throws {Failure} `USAGE`, whose message names the flag, the variable or the place in the config file; `INTERRUPTED`
 * while reading standard input; `TIMEOUT` while reading a pipe
 */
export async function readSettings(flags: ServerFlags, host: Host, log: Log): Promise<Settings> {
  return await parseSettings(await readEffectiveSettings(flags, host, log), host, log);
}

/**
 * Validates settings and reads the files that they name.
 *
 * @throws {Failure} `USAGE`; `INTERRUPTED` while reading standard input; `TIMEOUT` while reading a pipe
 */
export async function parseSettings(settings: EffectiveSettings, host: Host, log: Log): Promise<Settings> {
  const timeout = readTimeout(settings.timeout);
  const parsed: Settings = {
    server: await parseServer(settings, timeout, host, log),
    selectedBy: selectorOf(settings),
    urlSetting: urlSettingOf(settings),
    timeout,
    maxResponseSize: parseSetting(
      orDefault("maxResponseSize", settings.maxResponseSize),
      sizeSchema(LARGEST_RESPONSE_MB),
    ),
    headers: await readHeaders(settings, host, log),
    keySource: keySourceOf(settings),
    loginCommand: loginCommandOf(settings),
  };
  if (log.isDebug) (await import("#debug-log")).logSettings(settings, parsed, host, log);
  return parsed;
}

function selectorOf({ baseUrl, databaseUrl, dataDir, config: { profile } }: EffectiveSettings): string {
  const selected = baseUrl ?? databaseUrl ?? dataDir;
  if (selected === undefined) return "default";
  return selected.source === "file" ? `profile ${quote(profile?.name ?? "")}` : selected.from;
}

function urlSettingOf({ baseUrl, config: { profile } }: EffectiveSettings): string | undefined {
  return baseUrl?.source === "file" ? `the base-url of profile ${quote(profile?.name ?? "")}` : baseUrl?.from;
}

async function parseServer(
  settings: EffectiveSettings,
  timeout: number,
  host: Host,
  log: Log,
): Promise<NetworkServer | EmbeddedServer> {
  const { baseUrl, allowHttp, caFile } = settings;
  if (baseUrl === undefined) return { kind: "embedded", location: await readStoreLocation(settings, host, log) };
  return {
    kind: "network",
    endpoint: parseBaseUrl(baseUrl, { allowHttp: allowHttp?.value === "true" }),
    caCertificates: caFile && await readCaCertificates(caFile, timeout),
  };
}

async function readCaCertificates({ name, value: path }: Setting, timeout: number): Promise<string> {
  const value = await readSettingFile(path, name, timeout);
  const error = `names ${quote(path)}, which contains no PEM certificate.`;
  return parseSetting({ name, value }, z.string().check(z.includes("-----BEGIN CERTIFICATE-----", { error })));
}
