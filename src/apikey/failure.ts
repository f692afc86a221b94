/**
 * Why something was refused or did not work: the one family of errors of the program. A failure is made where
 * the fact is known and turned into text, JSON and an exit status in one place, `src/cli/report.ts`.
 */

/** What kind of failure it is; scripts read it in the `code` member of `--json`. */
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
  /** Refused or failed for a reason that none of the others names. */
  | "FAILED"
  /** Ctrl-C. */
  | "INTERRUPTED";

/** The executable has this module twice, in the bundle of the program and in that of the server. */
const isFailure = Symbol.for("service-api failure");

/** A refusal or failure whose message says what is wrong and how to mend it. It never contains a secret. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly [isFailure] = true;

  constructor(readonly code: FailureCode, message: string, options?: ErrorOptions) {
    super(message, options);
  }

  /** A failure is one whichever copy of this module it comes from. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== Failure) return super[Symbol.hasInstance](value);
    return value instanceof Error && isFailure in value;
  }
}

/** What is said of an interruption that came before anything was asked for. */
export const NOTHING_CHANGED = "Interrupted. Nothing was changed.";

const LONGEST_QUOTE = 80;

/**
 * Shows somebody's input inside a message: in quotes, cut after 80 code points, and with everything that could
 * move the cursor or reorder the line (control, format and other invisible characters) written as an escape.
 *
 * @example quote("a\u202eb") // "\"a\\u{202e}b\""
 */
export function quote(input: string): string {
  const codePoints = [...input];
  const shown = codePoints.length > LONGEST_QUOTE ? `${codePoints.slice(0, LONGEST_QUOTE).join("")}…` : input;
  return `"${escapeInvisible(shown)}"`;
}

/** Writes whatever cannot be seen, other than the ordinary space, as `\u{…}`. */
export function escapeInvisible(text: string): string {
  return text.replace(
    /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** What an error of the system or a library says, without the parts that say it twice. */
export function reasonOf(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  return words.replace(/: \w+ '.*$/s, "").replace(/ \(os error \d+\)/, "");
}
