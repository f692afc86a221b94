/** Wraps words into lines, in a separate module so that help pages do not load the rest of `terminal/`. */

/**
 * Joins words into lines. Never breaks a word.
 *
 * @param width the maximum length of a line, in UTF-16 code units. A word that is longer has a line of its own.
 * @param separator joins the words of a line
 */
export function wrapWords(words: readonly string[], width: number, separator: string): readonly string[] {
  const lines: string[] = [];
  for (const word of words) {
    const line = lines.at(-1);
    if (line === undefined || line.length + separator.length + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${line}${separator}${word}`;
  }
  return lines;
}
