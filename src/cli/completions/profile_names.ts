/** The profiles of the config file, for `--profile`. */
import type { Host } from "../host.ts";

/**
 * The names of the profiles, in the order of the file; none where there is no file.
 *
 * @param _configFile the value of `--config`, if it is given
 */
export function readProfileNames(_host: Host, _configFile: string | undefined): Promise<readonly string[]> {
  return Promise.resolve([]);
}
