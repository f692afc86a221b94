/**
 * The answer of `service-api __complete` to a shell that completes a word. The scripts for the shells parse the answer.
 * If you change the format, change the scripts too.
 */

/** A possible completion of the word at the cursor. */
export interface Candidate {
  /** The whole word, unquoted. */
  readonly word: string;
  readonly description: string;
}

export type Answer =
  | {
    readonly kind: "candidates";
    readonly candidates: readonly Candidate[];
    /** The user will type more of the word, so the shell must not append a space. */
    readonly isPartial?: boolean;
  }
  /** The shell completes a path. In the word, the path comes after `prefix`. */
  | { readonly kind: "files" | "directories"; readonly prefix: string };

export const NO_CANDIDATES: Answer = { kind: "candidates", candidates: [] };

/**
 * Formats an answer: one line `WORD<TAB>DESCRIPTION` for each candidate, then a directive. The directive is `:space` or
 * `:nospace` (what to append to the word), or `:files` or `:directories` followed by `<TAB>PREFIX`.
 */
export function formatAnswer(answer: Answer): string {
  if (answer.kind !== "candidates") return `:${answer.kind}\t${answer.prefix}\n`;
  const lines = answer.candidates.map(({ word, description }) => `${word}\t${description}\n`);
  return `${lines.join("")}:${answer.isPartial ? "nospace" : "space"}\n`;
}

/** The candidates that start with the typed text, ignoring case and Unicode composition. */
export function matching(typed: string, candidates: readonly Candidate[]): readonly Candidate[] {
  const start = normalize(typed);
  return candidates.filter(({ word }) => normalize(word).startsWith(start));
}

function normalize(text: string): string {
  return text.normalize("NFC").toLowerCase();
}
