/** Roles and resources that are not in the lists of this program. Another server may have them. */
import { Failure } from "./failure.ts";

/** The failure for such a role or resource. Ask the server for its names before you throw it. */
export class UnknownName extends Failure {}

/** Whether a word in upper case can be the name of a member of a GraphQL enum. */
export function canBeEnumName(word: string): boolean {
  return /^[A-Z_][0-9A-Z_]*$/.test(word);
}
