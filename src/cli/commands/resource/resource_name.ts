/** Reads the name of a custom resource that a user typed. */
import { toUpperCase } from "../../../apikey/comma_list.ts";
import { Failure, quote } from "../../../apikey/failure.ts";
import { isResourceName } from "../../../apikey/permission.ts";

/**
 * Ignores case, and spaces at both ends.
 *
 * @returns the name in upper case
 * @throws {Failure} `USAGE`; the message suggests a name
 */
export function parseResourceName(typed: string): string {
  const name = toUpperCase(typed.trim());
  if (isResourceName(name)) return name;
  const suggested = name.replaceAll(/[^A-Z0-9]+/g, "_").replaceAll(/^[_0-9]+|_$/g, "");
  const advice = isResourceName(suggested) ? ` Did you mean ${suggested}?` : "";
  throw new Failure(
    "USAGE",
    `${
      quote(typed)
    } cannot be the name of a resource. A name begins with a letter, contains only letters, digits and ` +
      `single underscores between them, and has at most 64 characters.${advice}`,
  );
}
