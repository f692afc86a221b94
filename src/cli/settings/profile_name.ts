/** Checks the names of profiles. `login` uses the name of a profile as the name of its key file. */
import { Failure } from "../../apikey/failure.ts";
import { parseSetting, type TextSchema, textSchema } from "./schema.ts";
import type { Setting } from "./setting.ts";

export function profileNameSchema(): TextSchema<string> {
  return textSchema((text, reject) =>
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text) ? text : reject(
      "must consist of at most 64 ASCII letters, digits, dots, underscores and hyphens, and begin with a letter or digit.",
    )
  );
}

/**
 * Checks the name of a new or existing profile.
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
