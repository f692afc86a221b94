/** Where the embedded server keeps its store. */
import { Failure } from "../../apikey/failure.ts";
import type { Host } from "../host.ts";
import type { Setting } from "./setting.ts";

/**
 * The data directory for the embedded server: the one that is given, or `service-api` in the platform's directory for
 * data.
 *
 * @throws {Failure} `USAGE` when none is given and the platform names none
 */
export function readDataDir(given: Setting | undefined, host: Host): string {
  if (given?.value.trim() === "") throw new Failure("USAGE", `${given.name} takes a directory, not an empty text.`);
  const directory = given?.value ?? platformDataDir(host);
  if (directory !== undefined) return directory;
  throw new Failure(
    "USAGE",
    "There is no home directory to keep keys in: give --data-dir or SERVICE_API_DATA_DIR, or the server with " +
      "--base-url.",
  );
}

function platformDataDir(host: Host): string | undefined {
  const home = host.env("HOME");
  if (host.platform === "windows") return inside(host.env("LOCALAPPDATA"), "service-api");
  if (host.platform === "darwin") return inside(home, "Library/Application Support/service-api");
  const data = host.env("XDG_DATA_HOME");
  return inside(data?.startsWith("/") ? data : inside(home, ".local/share"), "service-api");
}

function inside(directory: string | undefined, path: string): string | undefined {
  return directory && `${directory}/${path}`;
}
