/** The texts of a key that the server stores: their lengths and characters. */
import { Failure } from "../../apikey/failure.ts";
import { type Name, parseName } from "../../apikey/name.ts";

/** The maximum length of a name and of `managedBy`, in code points. */
const MAX_LENGTH = 255;

/** @throws {Failure} `INVALID_NAME` if the name is too long, empty or contains anything but letters, digits and spaces */
export function parseStorableName(input: string): Name {
  const name = parseName(input);
  const length = [...name].length;
  if (length <= MAX_LENGTH) return name;
  throw new Failure(
    "INVALID_NAME",
    `The name is too long: it has ${length} characters. A name may contain only letters, digits and spaces, and at most ` +
      `${MAX_LENGTH} of them.`,
  );
}

/** @throws {Failure} `USAGE` if the text is empty or too long, or contains U+0000 or a lone surrogate */
export function parseManagedBy(text: string): string {
  if (text !== "" && !text.includes("\0") && text.isWellFormed() && [...text].length <= MAX_LENGTH) return text;
  throw new Failure(
    "USAGE",
    `managedBy must have 1 to ${MAX_LENGTH} characters, without U+0000 and lone surrogates.`,
  );
}

/** Parses a text that can be `null`. */
export function parseOptional<Value>(text: string | null, parse: (text: string) => Value): Value | null {
  return text === null ? null : parse(text);
}
