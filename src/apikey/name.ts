/** The name of a key (spec section 2, "Name rules"). */
import { Failure, quote } from "./failure.ts";

declare const name: unique symbol;

/** A trimmed, non-empty NFC string of letters, decimal digits and U+0020. */
export type Name = string & { readonly [name]: true };

const RULE = "A name may contain only letters, digits and spaces";

/** ASCII first, which is NFC too: Unicode's tables take half a millisecond to load. */
function isPlainName(text: string): text is Name {
  return /^[A-Za-z0-9 ]+$/.test(text);
}

function isName(text: string): text is Name {
  return /^[\p{L}\p{Nd} ]+$/u.test(text);
}

/**
 * Reads a name as it was typed: trimmed, brought to NFC, then checked. How long a name may be is the server's
 * affair.
 *
 * @throws {Failure} `INVALID_NAME`, naming the first character that is not allowed
 */
export function parseName(typed: string): Name {
  const trimmed = typed.trim();
  if (isPlainName(trimmed)) return trimmed;
  const text = trimmed.normalize("NFC");
  if (isName(text)) return text;
  if (text === "") throw new Failure("INVALID_NAME", `${RULE}, and at least one of them; this one is empty.`);
  const offender = /[^\p{L}\p{Nd} ]/u.exec(text)?.[0] ?? "";
  throw new Failure("INVALID_NAME", `${RULE}; ${quote(text)} contains ${quote(offender)}.`);
}

/** The refusal of a name in use (spec section 7). */
export function nameTaken(name: Name): Failure {
  return new Failure(
    "ALREADY_EXISTS",
    `A key named ${quote(name)} already exists; add --overwrite or choose another name.`,
  );
}
