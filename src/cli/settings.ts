/**
 * The settings that say which server is asked and as whom: flag, else environment variable, else default. Every
 * value is checked here; nothing downstream sees what was typed.
 */
import { Failure, quote } from "../apikey/failure.ts";
import type { StoreLocation } from "#server";
import { parseBaseUrl } from "./base_url.ts";
import { parseDuration } from "./duration.ts";
import { readHeaders } from "./headers.ts";
import type { Host } from "./host.ts";
import type { Log } from "./log.ts";
import { choose, readSettingFile } from "./setting.ts";
import { readStoreLocation, type StoreFlags } from "./store_location.ts";

/** The flags that every command that asks a server has, as they were typed. */
export interface ServerFlags extends StoreFlags {
  readonly baseUrl?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly header?: readonly string[] | undefined;
  readonly keyHeader?: string | undefined;
  readonly allowHttp?: boolean | undefined;
  readonly caFile?: string | undefined;
  readonly timeout?: string | undefined;
}

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

const DEFAULT_TIMEOUT = "30s";

/**
 * Reads the settings in force.
 *
 * @throws {Failure} `USAGE`, naming the flag or variable
 */
export async function readSettings(flags: ServerFlags, host: Host, log: Log): Promise<Settings> {
  const timeout = choose(host, ["--timeout", flags.timeout], "SERVICE_API_TIMEOUT");
  const server = await readServer(flags, host, log);
  return {
    server,
    timeout: parseDuration(timeout?.value ?? DEFAULT_TIMEOUT, timeout?.name ?? "--timeout"),
    headers: await readHeaders(flags, server.kind, host),
  };
}

async function readServer(flags: ServerFlags, host: Host, log: Log): Promise<NetworkServer | EmbeddedServer> {
  const asksForStore = flags.dataDir !== undefined || flags.databaseUrl !== undefined;
  if (flags.baseUrl !== undefined && asksForStore) {
    throw new Failure("USAGE", "--base-url names a server, --data-dir and --database-url a store: give one of them.");
  }
  const baseUrl = choose(host, ["--base-url", flags.baseUrl], "SERVICE_API_URL");
  if (baseUrl === undefined || asksForStore) {
    return { kind: "embedded", location: await readStoreLocation(flags, host, log) };
  }
  const caFile = choose(host, ["--ca-file", flags.caFile], "SERVICE_API_CA_FILE");
  return {
    kind: "network",
    endpoint: parseBaseUrl(baseUrl.value, baseUrl.name, flags.allowHttp ?? false),
    caCertificates: caFile && await readCertificates(caFile.value, caFile.name),
  };
}

async function readCertificates(path: string, setting: string): Promise<string> {
  const text = await readSettingFile(path, setting);
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw new Failure("USAGE", `${setting}: there is no PEM certificate in ${quote(path)}.`);
}
