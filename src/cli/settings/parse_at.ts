/** Failures that name the flag with the invalid value. */
import { Failure } from "../../apikey/failure.ts";
import { type ExpiryFlags, expiryFrom } from "../../apikey/lifetime.ts";
import { UnknownName } from "../../apikey/unknown_name.ts";

/**
 * Runs a parser. If it fails, the message of the failure begins with the flag, for example
 * `--permissions: "DOCKR" in "DOCKR:READ_ANY" is not a resource.`
 *
 * @throws {UnknownName} if the parser throws it
 * @throws {Failure} any other failure of the parser, with the same code
 */
export function parseAt<Parsed>(flag: `--${string}`, parse: () => Parsed): Parsed {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const message = `${flag}: ${error.message.replace(/^(?:The|Only) /, (word) => word.toLowerCase())}`;
    throw new (error instanceof UnknownName ? UnknownName : Failure)(error.code, message, { cause: error });
  }
}

/**
 * Returns when a key expires; `undefined` if neither flag is given.
 *
 * @throws {Failure} `USAGE` if both flags are given, if one of them is malformed, or if the time is not in the future
 */
export function parseExpiry(flags: ExpiryFlags, now: Date): Date | undefined {
  const { expiresIn, expiresAt } = flags;
  const parse = (): Date | undefined => expiryFrom(flags, now);
  if ((expiresIn === undefined) === (expiresAt === undefined)) return parse();
  return parseAt(expiresIn === undefined ? "--expires-at" : "--expires-in", parse);
}
