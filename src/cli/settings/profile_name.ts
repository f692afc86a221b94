/** What profiles may be called: a name is also that of the file with the profile's key. */
import { Failure, quote } from "../../apikey/failure.ts";

export const PROFILE_NAME_RULE =
  "The name of a profile is of letters, digits, dots, underscores and hyphens, begins with a letter or digit, and has " +
  "at most 64 characters.";

export function isProfileName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name);
}

/**
 * Checks a name for a profile that may be a new one.
 *
 * @param others the names of the profiles that there are
 * @throws {Failure} `USAGE`
 */
export function checkProfileName(name: string, setting: string, others: readonly string[]): void {
  if (!isProfileName(name)) throw new Failure("USAGE", `${setting}: ${quote(name)} will not do. ${PROFILE_NAME_RULE}`);
  // Two names, but one file where case does not count.
  const twin = others.find((other) => other !== name && other.toLowerCase() === name.toLowerCase());
  if (twin !== undefined) {
    throw new Failure(
      "USAGE",
      `${setting}: there is a profile ${twin} already, which differs from ${name} in case only.`,
    );
  }
}
