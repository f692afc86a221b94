/** The name of a key on the command line: an argument, or the flag `--name`. */
import { Failure } from "../../../../apikey/failure.ts";

/**
 * Returns the name of a key, which a user can type as an argument or with `--name`.
 *
 * @param advice a sentence, after a space, for users who give it twice
 * @throws {Failure} `USAGE` if it is given twice
 */
export function chooseName(
  argument: string | undefined,
  { name }: { readonly name?: string | undefined },
  advice = "",
): string | undefined {
  if (argument === undefined || name === undefined) return argument ?? name;
  throw new Failure("USAGE", `The name was given twice. Use either the argument or --name.${advice}`);
}
