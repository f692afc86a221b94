/** Comma-separated lists in one argument, for example `ADMIN, viewer`. */

/** Converts only ASCII letters. With Unicode rules, `admın` (with a dotless i) would be accepted as `ADMIN`. */
export function toUpperCase(word: string): string {
  return word.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

/**
 * Splits a text at commas, trims each item and parses it. Removes duplicates and keeps the order of the input. Returns
 * an empty list for blank text. Passes an empty item of any other list to `parseItem`, which must reject it.
 */
export function parseCommaList<Item extends string>(text: string, parseItem: (item: string) => Item): readonly Item[] {
  if (text.trim() === "") return [];
  return [...new Set(text.split(",").map((item) => parseItem(item.trim())))];
}
