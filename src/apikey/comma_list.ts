/** Lists as they are written in one argument: `ADMIN, viewer`. */

/** Words are the same in any case, as ASCII has it: no other alphabet has a way to write `ADMIN`. */
export function toUpperCase(word: string): string {
  return word.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

/**
 * Splits at commas, trims each item and parses it; items that come out equal count once, in the order of their
 * first appearance. A blank text is the empty list; an empty item among others is handed to `parseItem`, which
 * refuses it.
 */
export function parseCommaList<Item extends string>(text: string, parseItem: (typed: string) => Item): readonly Item[] {
  if (text.trim() === "") return [];
  return [...new Set(text.split(",").map((item) => parseItem(item.trim())))];
}
