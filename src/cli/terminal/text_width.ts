/** How wide text is at a terminal, where letters of some scripts take two columns and others none. */
import truncatedWidth from "fast-string-truncated-width";

/** Columns that a text takes. */
export function widthOf(text: string): number {
  return truncatedWidth(text).width;
}

const letters = new Intl.Segmenter();

/** A text without escape sequences, cut to a width in columns, `ellipsis` included where that has room. */
export function cut(text: string, columns: number, ellipsis: string): string {
  if (widthOf(text) <= columns) return text;
  const end = widthOf(ellipsis) <= columns ? ellipsis : "";
  let room = columns - widthOf(end);
  let index = 0;
  // Not by the library's own limit, which miscounts letters that stand before those of Latin, Han and Kana.
  for (const { segment } of letters.segment(text)) {
    room -= widthOf(segment);
    if (room < 0) break;
    index += segment.length;
  }
  return `${text.slice(0, index)}${end}`;
}

/** A text cut or filled with spaces to a width in columns. */
export function fit(text: string, columns: number, ellipsis: string): string {
  const shown = cut(text, columns, ellipsis);
  return shown + " ".repeat(Math.max(0, columns - widthOf(shown)));
}

/**
 * A text in lines of at most so many columns, or of two where there are fewer, broken between words where they fit.
 */
export function linesOf(text: string, columns: number): readonly string[] {
  const room = Math.max(2, columns);
  const lines: string[] = [];
  let rest = text;
  while (widthOf(rest) > room) {
    const fitting = cut(rest, room, "");
    const space = rest[fitting.length] === " " ? fitting.length : fitting.lastIndexOf(" ");
    const line = rest.slice(0, space > 0 ? space : Math.max(1, fitting.length));
    lines.push(line.trimEnd());
    rest = rest.slice(line.length).trimStart();
  }
  return [...lines, rest];
}
