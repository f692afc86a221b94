/** The names of profiles. The file with the profile's key has the same name. */
import { Failure } from "../../apikey/failure.ts";
import { parseSetting, type TextSchema, textSchema } from "./schema.ts";
import type { Setting } from "./setting.ts";

export function profileNameSchema(): TextSchema<string> {
  return textSchema((text, reject) =>
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text) ? text : reject(
      "must consist of at most 64 letters, digits, dots, underscores and hyphens, and begin with a letter or digit.",
    )
  );
}

/**
 * Checks the name of a profile that may be new.
 *
 * @param existing the names of all profiles
 * @throws {Failure} `USAGE`
 */
export function checkProfileName(setting: Setting, existing: readonly string[]): void {
  const name = parseSetting(setting, profileNameSchema());
  // On a file system that ignores case, both profiles would have the same key file.
  const collision = existing.find((other) => other !== name && other.toLowerCase() === name.toLowerCase());
  if (collision !== undefined) {
    throw new Failure("USAGE", `${setting.name}: ${name} differs from the existing profile ${collision} only in case.`);
  }
}
