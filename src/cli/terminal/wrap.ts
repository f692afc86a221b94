/**
 * Puts words that stay together into lines.
 *
 * @param width the most UTF-16 code units of a line, exceeded by longer words only
 * @param separator what stands between two words of a line
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
