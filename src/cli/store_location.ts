/** Where the embedded server keeps its keys: in a directory of this machine, or in a database. */
import { Failure } from "../apikey/failure.ts";
import type { StoreLocation } from "#server";
import { readDataDir } from "./data_dir.ts";
import type { Host } from "./host.ts";
import type { Log } from "./log.ts";
import { choose } from "./setting.ts";

/** The flags that say where keys are, as they were typed. */
export interface StoreFlags {
  readonly dataDir?: string | undefined;
  readonly databaseUrl?: string | undefined;
}

/**
 * The store: of the flags the one that is given; else the database of the variable, if it is set; else a directory.
 *
 * @throws {Failure} `USAGE`
 */
export async function readStoreLocation(flags: StoreFlags, host: Host, log: Log): Promise<StoreLocation> {
  if (flags.dataDir !== undefined && flags.databaseUrl !== undefined) {
    throw new Failure("USAGE", "Give either --data-dir or --database-url, not both.");
  }
  const url = choose(host, ["--database-url", flags.databaseUrl], "SERVICE_API_DATABASE_URL");
  if (url === undefined || flags.dataDir !== undefined) {
    return { kind: "directory", path: readDataDir(flags.dataDir, host) };
  }
  const { parseDatabaseUrl } = await import("./database_url.ts");
  const address = await parseDatabaseUrl(url, host);
  if (url.name === "--database-url" && /^[^/]*\/\/[^/@]*:[^/@]+@/.test(url.value)) {
    log.warn(
      "Every user of this machine can see the password in --database-url: use SERVICE_API_DATABASE_URL or PGPASSWORD.",
    );
  }
  return { kind: "database", address };
}
