/** Wraps words into lines, in a separate module so that help pages do not load the rest of `terminal/`. */

/**
 * Joins words into lines. Never breaks a word.
 *
 * @param width the maximum width of a line. A word that is longer has a line of its own.
 * @param separator joins the words of a line
 * @param widthOf the width of a text; by default, its length in UTF-16 code units
 */
export function wrapWords(
  words: readonly string[],
  width: number,
  separator: string,
  widthOf = (text: string): number => text.length,
): readonly string[] {
  const lines: string[] = [];
  for (const word of words) {
    const line = lines.at(-1);
    if (line === undefined || widthOf(line) + separator.length + widthOf(word) > width) lines.push(word);
    else lines[lines.length - 1] = `${line}${separator}${word}`;
  }
  return lines;
}
