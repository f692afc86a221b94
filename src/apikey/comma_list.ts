/** Parses comma-separated lists, for example `ADMIN, viewer`. */

/** Converts ASCII letters to upper case. By Unicode rules, `admın` (with a dotless i) would become `ADMIN`. */
export function toUpperCase(word: string): string {
  return word.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

/** Finds a word in a list of words, ignoring the case of ASCII letters. */
export function findWord<Word extends string>(upperCase: string, words: readonly Word[]): Word | undefined {
  return words.find((word) => word === upperCase) ?? words.find((word) => toUpperCase(word) === upperCase);
}

/**
 * Splits a text at commas, and trims and parses each item. Removes duplicates and keeps the order of the input. Returns
 * an empty list if the whole text is blank.
 *
 * @param parseItem must reject an empty item
 */
export function parseCommaList<Item extends string>(text: string, parseItem: (item: string) => Item): readonly Item[] {
  if (text.trim() === "") return [];
  return [...new Set(text.split(",").map((item) => parseItem(item.trim())))];
}
