/** Suggestions for mistyped words: "Did you mean …?" */
import { quote } from "./failure.ts";

/**
 * The optimal string alignment distance: how many insertions, deletions, substitutions and swaps of adjacent characters
 * turn `a` into `b`.
 */
function distance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = at(previous, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(at(previous, j) + 1, at(row, j - 1) + 1, substitution);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, at(beforePrevious, j - 2) + 1);
      }
      row.push(least);
    }
    beforePrevious = previous;
    previous = row;
  }
  return at(previous, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}

/**
 * The number of edits that turn the typed text into a word. If the end of the word is missing, it counts as one edit,
 * because users abbreviate words more often than they mistype them. `Infinity` if more than a third of the longer text
 * would have to change: one edit turns a word of two letters into too many others.
 */
function editsTo(word: string, typed: string): number {
  if (typed === "") return word.length;
  const edits = distance(typed, word);
  const whole = edits > Math.max(typed.length, word.length) / 3 ? Infinity : edits;
  return Math.min(whole, distance(typed, word.slice(0, typed.length)) + 1);
}

/**
 * Returns the word that is nearest to the typed text. If several words are equally near, returns the first of them.
 *
 * @returns `undefined` if more than a third of the typed text would have to change. Such a word is not what the user meant.
 */
export function nearest<Word extends string>(typed: string, words: readonly Word[]): Word | undefined {
  const start = typed.slice(0, 64);
  let best: Word | undefined;
  let fewest = Math.max(1, Math.floor(start.length / 3)) + 1;
  for (const word of words) {
    const edits = editsTo(word, start);
    if (edits < fewest) {
      best = word;
      fewest = edits;
    }
  }
  return best;
}

/**
 * Returns ` Did you mean …?` with the nearest word, or an empty text if no word is near.
 *
 * @param show formats the word
 */
export function didYouMean(typed: string, words: readonly string[], show = (word: string): string => word): string {
  const word = nearest(typed, words);
  return word === undefined ? "" : ` Did you mean ${show(word)}?`;
}

/**
 * Like {@linkcode didYouMean}, but for names of keys. A name that differs only in case and spaces counts as the nearest.
 */
export function didYouMeanName(typed: string, names: readonly string[]): string {
  const bare = withoutCaseAndSpaces(typed);
  const alike = names.find((name) => withoutCaseAndSpaces(name) === bare);
  return alike === undefined ? didYouMean(typed, names, quote) : ` Did you mean ${quote(alike)}?`;
}

function withoutCaseAndSpaces(name: string): string {
  return name.normalize("NFC").toLowerCase().replaceAll(" ", "");
}
