/** The name of a key (spec section 2, "Name rules"). */
import { Failure, quote } from "./failure.ts";

declare const name: unique symbol;

/**
 * A non-empty text of letters (`\p{L}`), decimal digits (`\p{Nd}`) and spaces (U+0020), trimmed and in NFC. The name of
 * an existing key on another server may also contain other numbers (`\p{N}`, for example `Ⅷ`).
 */
export type Name = string & { readonly [name]: true };

const RULE = "A name may contain only letters, digits and spaces";

/**
 * ASCII text is always in NFC. Checking for ASCII first saves nearly a millisecond, because it needs no Unicode tables.
 */
function isAsciiName(text: string): text is Name {
  return /^[A-Za-z0-9 ]+$/.test(text);
}

/**
 * Trims a name, normalizes it to NFC and checks it. Only the server limits the length of a name.
 *
 * @throws {Failure} `INVALID_NAME`; its message shows the first character that is not allowed, or says that the name is
 * empty
 */
export function parseName(typed: string): Name {
  return parse(typed, () => /[^\p{L}\p{Nd} ]/u);
}

/**
 * Like {@linkcode parseName}, but for the name of an existing key: other servers also accept numbers that are not
 * decimal digits. If the text is the id of a key, the message suggests `--id`.
 *
 * @throws {Failure} `INVALID_NAME`
 */
export function parseExistingName(typed: string): Name {
  return parse(typed, () => /[^\p{L}\p{N} ]/u, (text) => /^key_[0-9A-Za-z]+$/.test(text) ? `--id ${text}` : undefined);
}

function parse(
  typed: string,
  forbiddenCharacter: () => RegExp,
  suggest: (text: string) => string | undefined = () => undefined,
): Name {
  const trimmed = typed.trim();
  if (isAsciiName(trimmed)) return trimmed;
  const text = trimmed.normalize("NFC");
  // Created only here, because even creating it needs the Unicode tables.
  const forbidden = forbiddenCharacter();
  if (isName(text, forbidden)) return text;
  if (text === "") throw new Failure("INVALID_NAME", `The name is empty. ${RULE}.`);
  const character = forbidden.exec(text)?.[0] ?? "";
  const spaced = text.replaceAll(/[\p{P}\p{Z}]+/gu, " ").trim();
  const suggestion = suggest(text) ?? (isName(spaced, forbidden) ? quote(spaced) : undefined);
  const advice = suggestion === undefined ? "" : ` Did you mean ${suggestion}?`;
  throw new Failure("INVALID_NAME", `The name ${quote(text)} contains ${quote(character)}. ${RULE}.${advice}`);
}

function isName(text: string, forbidden: RegExp): text is Name {
  return text !== "" && !forbidden.test(text);
}

/** Whether a key has a name, which is in NFC. The name of a key on another server may not be in NFC. */
export function hasName(key: { readonly name: string }, name: string): boolean {
  return key.name.normalize("NFC") === name;
}

/** The error for a name that is already taken (spec section 7). */
export function nameTaken(name: Name): Failure {
  return new Failure(
    "ALREADY_EXISTS",
    `A key named ${quote(name)} already exists; add --overwrite or choose another name.`,
  );
}
