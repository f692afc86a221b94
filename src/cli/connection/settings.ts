/**
 * The settings that say which server is asked and as whom: flag, else environment variable, else profile of the config
 * file, else default. Every value is checked here; nothing downstream sees what was typed.
 */
import { Failure, quote } from "../../apikey/failure.ts";
import type { StoreLocation } from "#server";
import { parseDuration } from "../settings/duration.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import { parseBaseUrl } from "../settings/base_url.ts";
import { readHeaders } from "./headers.ts";
import { type InForce, readInForce } from "./settings_in_force.ts";
import type { ServerFlags } from "../settings/server_flags.ts";
import { readSettingFile, type Setting } from "../settings/setting.ts";
import { readStoreLocation } from "../settings/store_location.ts";
import { SETTINGS } from "../settings/table.ts";

export interface Settings {
  readonly server: NetworkServer | EmbeddedServer;
  /** The headers sent with every request, the key among them. */
  readonly headers: ReadonlyMap<string, string>;
  /** Milliseconds. */
  readonly timeout: number;
}

export interface NetworkServer {
  readonly kind: "network";
  /** `{base_url}/graphql`. */
  readonly endpoint: URL;
  /** PEM certificates of the authorities to trust in place of the system's. */
  readonly caCertificates: string | undefined;
}

export interface EmbeddedServer {
  readonly kind: "embedded";
  readonly location: StoreLocation;
}

/**
 * Reads the settings in force.
 *
 * @throws {Failure} `USAGE`, naming the flag, the variable or the place in the config file
 */
export async function readSettings(flags: ServerFlags, host: Host, log: Log): Promise<Settings> {
  return await checkSettings(await readInForce(flags, host, log), host, log);
}

/**
 * Checks the settings in force and reads the files that they name.
 *
 * @throws {Failure} `USAGE`
 */
export async function checkSettings(inForce: InForce, host: Host, log: Log): Promise<Settings> {
  const { timeout } = inForce;
  const server = await checkServer(inForce, host, log);
  return {
    server,
    timeout: parseDuration(timeout?.value ?? SETTINGS.timeout.default, timeout?.name ?? "--timeout"),
    headers: await readHeaders(inForce, host),
  };
}

async function checkServer(inForce: InForce, host: Host, log: Log): Promise<NetworkServer | EmbeddedServer> {
  const { baseUrl, allowHttp, caFile } = inForce;
  if (baseUrl === undefined) return { kind: "embedded", location: await readStoreLocation(inForce, host, log) };
  return {
    kind: "network",
    endpoint: parseBaseUrl(baseUrl.value, baseUrl.name, allowHttp?.value === "true"),
    caCertificates: caFile && await readCertificates(caFile),
  };
}

async function readCertificates({ name, value }: Setting): Promise<string> {
  const text = await readSettingFile(value, name);
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw new Failure("USAGE", `${name}: there is no PEM certificate in ${quote(value)}.`);
}
