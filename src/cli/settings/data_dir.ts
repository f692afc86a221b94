/** The directory in which the embedded server keeps its store. */
import { Failure } from "../../apikey/failure.ts";
import type { Host } from "../host/host.ts";
import { platformDirectory } from "./platform_directory.ts";
import { parseSetting, type TextSchema, textSchema } from "./schema.ts";
import type { Setting } from "./setting.ts";

/**
 * Returns the directory of the setting, or else `service-api` in the platform's data directory.
 *
 * @throws {Failure} `USAGE` if the setting is empty, or if there is neither a setting nor a platform data directory
 */
export function readDataDir(setting: Setting | undefined, host: Host): string {
  const directory = setting === undefined ? platformDirectory("data", host) : parseSetting(setting, directorySchema());
  if (directory !== undefined) return directory;
  throw new Failure(
    "USAGE",
    "No server or store is set, and there is no home directory for a default config file or store. To use a server, " +
      "set SERVICE_API_URL and SERVICE_API_KEY_FILE, or set SERVICE_API_CONFIG to a config file with profiles. To use a " +
      "store on this machine, set --data-dir or SERVICE_API_DATA_DIR.",
  );
}

function directorySchema(): TextSchema<string> {
  return textSchema((text, reject) => {
    if (/^postgres(ql)?:\/\//i.test(text)) return reject("must be a directory. A database needs --database-url.");
    return text.trim() === "" ? reject("is empty. Name a directory.") : text;
  });
}
