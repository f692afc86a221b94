/** Where the embedded server keeps its keys: in a directory of this machine, or in a database. */
import { Failure } from "../../apikey/failure.ts";
import type { StoreLocation } from "#server";
import { readDataDir } from "./data_dir.ts";
import { parseDatabaseUrl } from "./database_url.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import { choose, type GivenSetting, type Profile, rank } from "./setting.ts";

/** The flags that say where keys are, as they were typed. */
export interface StoreFlags {
  readonly dataDir?: string | undefined;
  readonly databaseUrl?: string | undefined;
}

/** Which store: at most one of them is given. */
export interface StoreChoice {
  readonly dataDir: GivenSetting | undefined;
  readonly databaseUrl: GivenSetting | undefined;
}

/**
 * The store: of the flags the one that is given; else the database of the variable, if it is set, or its directory;
 * else in the same way that of the profile.
 *
 * @throws {Failure} `USAGE` when both flags are given
 */
export function chooseStore(flags: StoreFlags, host: Host, profile?: Profile): StoreChoice {
  if (flags.dataDir !== undefined && flags.databaseUrl !== undefined) {
    throw new Failure("USAGE", "Give either --data-dir or --database-url, not both.");
  }
  const dataDir = choose("dataDir", flags, host, profile);
  const databaseUrl = choose("databaseUrl", flags, host, profile);
  return databaseUrl === undefined || rank(dataDir) > rank(databaseUrl)
    ? { dataDir, databaseUrl: undefined }
    : { dataDir: undefined, databaseUrl };
}

/** @throws {Failure} `USAGE` */
export async function readStoreLocation(
  { dataDir, databaseUrl }: StoreChoice,
  host: Host,
  log: Log,
): Promise<StoreLocation> {
  if (databaseUrl === undefined) return { kind: "directory", path: readDataDir(dataDir, host) };
  const address = await parseDatabaseUrl(databaseUrl, host);
  if (databaseUrl.source === "flag" && /^[^/]*\/\/[^/@]*:[^/@]+@/.test(databaseUrl.value)) {
    log.warn(
      "Every user of this machine can see the password in --database-url: use SERVICE_API_DATABASE_URL or PGPASSWORD.",
    );
  }
  return { kind: "database", address };
}
