/**
 * The errors that users see. The code that detects a problem throws a `Failure`. Only `src/cli/report.ts` turns a
 * `Failure` into text, JSON and an exit code.
 */

/** The kind of failure. With `--json`, scripts read it in the member `code`. */
export type FailureCode =
  | "INVALID_NAME"
  | "ALREADY_EXISTS"
  | "NO_RIGHTS"
  | "INVALID_ROLE"
  | "INVALID_PERMISSION"
  | "USAGE"
  | "UNAUTHENTICATED"
  | "FORBIDDEN"
  | "UNREACHABLE"
  | "TLS"
  | "TIMEOUT"
  | "BAD_RESPONSE"
  /** A failure that none of the other codes describes. */
  | "FAILED"
  /** Ctrl-C. */
  | "INTERRUPTED";

/** An error whose message says what happened, to what, and what to do. It never contains a secret. */
export class Failure extends Error {
  override readonly name = "Failure";

  constructor(readonly code: FailureCode, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** The message for an interruption before the program changed anything. */
export const NOTHING_CHANGED = "Interrupted. Nothing was changed.";

/** The longest input that a message quotes in full, in code points. */
const MAX_QUOTE_LENGTH = 80;

/**
 * Quotes untrusted input for a message. Truncates the input to 80 code points. Escapes every character that could move
 * the cursor, reorder the line or stay invisible.
 *
 * @example quote("a\u202eb") // "\"a\\u{202e}b\""
 */
export function quote(input: string): string {
  const codePoints = [...input];
  const shown = codePoints.length > MAX_QUOTE_LENGTH ? `${codePoints.slice(0, MAX_QUOTE_LENGTH).join("")}…` : input;
  return `"${escapeInvisible(shown)}"`;
}

/** Writes control, format and other invisible characters as `\u{…}`. U+0020 stays. */
export function escapeInvisible(text: string): string {
  return text.replace(
    /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/**
 * The message of a system or library error, without the operation (`: open 'FILE'`), the error number, and the full stop
 * that Windows writes before it.
 */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/: \w+ '.*$/s, "").replace(/\.? \(os error \d+\)/, "");
}
