/** The profiles of the config file, for `--profile`. */
import type { Host } from "../host/host.ts";
import { readConfigFile } from "../config_file/read.ts";
import { chooseConfigPath } from "../config_file/path.ts";

/**
 * The names of the profiles, in the order of the file; none where there is no file.
 *
 * @param config the value of `--config`, if it is given
 * @throws {Failure} when something is wrong with the file
 */
export async function readProfileNames(config: string | undefined, host: Host): Promise<readonly string[]> {
  const path = chooseConfigPath({ config }, host);
  return [...(path && await readConfigFile(path, host))?.profiles.keys() ?? []];
}
