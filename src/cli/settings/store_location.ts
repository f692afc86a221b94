/** Where the embedded server stores keys: in a directory of this machine or in a PostgreSQL database. */
import { Failure } from "../../apikey/failure.ts";
import type { StoreLocation } from "#server";
import { readDataDir } from "./data_dir.ts";
import { parseDatabaseUrl } from "./database_url.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import { chooseSetting, precedenceOf, type Profile, type SourcedSetting } from "./setting.ts";

/** The flags that select the store, as typed. */
export interface StoreFlags {
  readonly dataDir?: string | undefined;
  readonly databaseUrl?: string | undefined;
}

/** The selected store; at most one of the two is set. */
export interface StoreSettings {
  readonly dataDir: SourcedSetting | undefined;
  readonly databaseUrl: SourcedSetting | undefined;
}

/**
 * Selects the store. Flags win over variables, and variables win over the profile. If both settings have the same
 * source, the database wins over the directory.
 *
 * @throws {Failure} `USAGE` if both flags are given
 */
export function chooseStore(flags: StoreFlags, host: Host, profile?: Profile): StoreSettings {
  if (flags.dataDir !== undefined && flags.databaseUrl !== undefined) {
    throw new Failure("USAGE", "Use either --data-dir or --database-url, not both.");
  }
  const dataDir = chooseSetting("dataDir", flags, host, profile);
  const databaseUrl = chooseSetting("databaseUrl", flags, host, profile);
  return databaseUrl === undefined || precedenceOf(dataDir) > precedenceOf(databaseUrl)
    ? { dataDir, databaseUrl: undefined }
    : { dataDir: undefined, databaseUrl };
}

/**
 * Parses the settings of the store.
 *
 * @throws {Failure} `USAGE`
 */
export async function readStoreLocation(
  { dataDir, databaseUrl }: StoreSettings,
  host: Host,
  log: Log,
): Promise<StoreLocation> {
  if (databaseUrl === undefined) return { kind: "directory", path: readDataDir(dataDir, host) };
  const address = await parseDatabaseUrl(databaseUrl, host);
  if (databaseUrl.source === "flag" && /^[^/]*\/\/[^/@]*:[^/@]+@/.test(databaseUrl.value)) {
    log.warn(
      "Every user of this machine can see the password in --database-url. Use SERVICE_API_DATABASE_URL or PGPASSWORD.",
    );
  }
  return { kind: "database", address };
}
