/**
 * The errors that users see. The code that detects a problem throws a `Failure`. Only `src/cli/report.ts` turns a
 * `Failure` into text, JSON and an exit code.
 */

/** The kind of failure. With `--json`, it is the `code` member of the output. */
export type FailureCode =
  | "INVALID_NAME"
  | "ALREADY_EXISTS"
  /** The key to show or to change does not exist. */
  | "NOT_FOUND"
  /** The key to rotate has expired, and no new expiry is given. */
  | "EXPIRED"
  /** The server's schema lacks a field that the command needs. */
  | "UNSUPPORTED"
  | "NO_RIGHTS"
  | "INVALID_ROLE"
  | "INVALID_PERMISSION"
  | "USAGE"
  | "UNAUTHENTICATED"
  | "FORBIDDEN"
  /** The server accepts no more requests for now (HTTP status 429). */
  | "RATE_LIMITED"
  | "UNREACHABLE"
  | "TLS"
  | "TIMEOUT"
  | "BAD_RESPONSE"
  /** Any other failure. */
  | "FAILED"
  /** Ctrl-C, SIGINT or SIGTERM, or the user did not confirm. */
  | "INTERRUPTED";

/** What is known about a failure, beyond its code and its message. */
export interface FailureOptions extends ErrorOptions {
  /** Whether the server may have executed the request that failed. The message says so. By default, it has not. */
  readonly mayHaveExecuted?: boolean;
  /** Whether the message says which command to run next. */
  readonly saysWhatToRun?: boolean;
}

/**
 * An error whose message says what went wrong, what it affected, and what the user can do about it. The message never
 * contains a secret.
 */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly mayHaveExecuted: boolean;
  readonly saysWhatToRun: boolean;

  constructor(readonly code: FailureCode, message: string, options: FailureOptions = {}) {
    super(message, options);
    this.mayHaveExecuted = options.mayHaveExecuted ?? false;
    this.saysWhatToRun = options.saysWhatToRun ?? false;
  }
}

/** The message if the program is interrupted before it has changed anything. */
export const NOTHING_CHANGED = "Interrupted. Nothing was changed.";

/** The longest input that a message quotes in full, in code points. */
const MAX_QUOTE_LENGTH = 80;

/**
 * Quotes untrusted input for a message. Truncates the input to 80 code points. Escapes every character that could move
 * the cursor, reorder the line or be invisible.
 *
 * @example quote("a\u202eb") // "\"a\\u{202e}b\""
 */
export function quote(input: string): string {
  const codePoints = [...input];
  const shown = codePoints.length > MAX_QUOTE_LENGTH ? `${codePoints.slice(0, MAX_QUOTE_LENGTH).join("")}…` : input;
  return `"${escapeInvisible(shown)}"`;
}

/** Ends a text with a full stop, unless it is empty or has an end mark. Another sentence can then follow. */
export function toSentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === "" || /[.!?…。！？]["'”’)\]`]*$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

/** Writes control, format and other invisible characters as `\u{…}`. An ordinary space (U+0020) is left unchanged. */
export function escapeInvisible(text: string): string {
  return text.replace(
    /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/**
 * The message of a system or library error, without the error number and the operation (`: open 'FILE'`) at the end,
 * and without the full stop at the end of messages from Windows. Deno's advice to run the program with other flags is
 * not for users.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === "NotCapable") return "The program is not allowed to use this path";
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/: \w+ '.*$/s, "").replace(/\.? \(os error \d+\)/, "");
}
