/** The description of a key (spec section 2). */
import { Failure } from "./failure.ts";

/** The maximum length of a description, in code points. */
const MAX_DESCRIPTION_LENGTH = 1024;

/**
 * Returns the description if a server can store it.
 *
 * @throws {Failure} `USAGE` if it is too long, or if it contains U+0000 or a lone surrogate
 */
export function parseDescription(text: string): string {
  if (text.includes("\0") || !text.isWellFormed()) {
    throw new Failure("USAGE", "A description cannot contain U+0000 or a lone surrogate.");
  }
  // A code point has at most two code units.
  const length = text.length <= MAX_DESCRIPTION_LENGTH ? 0 : [...text.slice(0, 2 * MAX_DESCRIPTION_LENGTH + 1)].length;
  if (length <= MAX_DESCRIPTION_LENGTH) return text;
  throw new Failure(
    "USAGE",
    `The description is too long. A description may have at most ${MAX_DESCRIPTION_LENGTH} characters.`,
  );
}
