/** Where the embedded server keeps its store. */
import { Failure } from "../../apikey/failure.ts";
import type { Host } from "../host/host.ts";
import { platformDirectory } from "./platform_directory.ts";
import type { Setting } from "./setting.ts";

/**
 * The data directory for the embedded server: the one that is given, or `service-api` in the platform's directory for
 * data.
 *
 * @throws {Failure} `USAGE` when none is given and the platform names none
 */
export function readDataDir(given: Setting | undefined, host: Host): string {
  if (given?.value.trim() === "") throw new Failure("USAGE", `${given.name} takes a directory, not an empty text.`);
  const directory = given?.value ?? platformDirectory("data", host);
  if (directory !== undefined) return directory;
  throw new Failure(
    "USAGE",
    "There is no home directory to keep keys in: give --data-dir or SERVICE_API_DATA_DIR, or the server with " +
      "--base-url.",
  );
}
