/** What a shell is told at a Tab. The scripts for the shells read it, so it changes only together with them. */

/** A word that the one under the cursor can become. */
export interface Candidate {
  /** The whole word, unquoted. */
  readonly word: string;
  readonly description: string;
}

export type Answer =
  | {
    readonly kind: "candidates";
    readonly candidates: readonly Candidate[];
    /** The word goes on: the shell puts no space after it. */
    readonly goesOn?: boolean;
  }
  /** Paths, after what stands in the same word `before` them. */
  | { readonly kind: "files" | "directories"; readonly before: string };

export const NOTHING: Answer = { kind: "candidates", candidates: [] };

/**
 * A line for each candidate, `WORD<TAB>DESCRIPTION`, and a last one that says what to do: `:space` or `:nospace` after
 * the word, or `:files` or `:directories` with `<TAB>BEFORE`.
 */
export function render(answer: Answer): string {
  if (answer.kind !== "candidates") return `:${answer.kind}\t${answer.before}\n`;
  const lines = answer.candidates.map(({ word, description }) => `${word}\t${description}\n`);
  return `${lines.join("")}:${answer.goesOn ? "nospace" : "space"}\n`;
}

/** Those candidates that begin as the word under the cursor does, in any case. */
export function beginningWith(typed: string, candidates: readonly Candidate[]): readonly Candidate[] {
  const start = fold(typed);
  return candidates.filter(({ word }) => fold(word).startsWith(start));
}

function fold(text: string): string {
  return text.normalize("NFC").toLowerCase();
}
