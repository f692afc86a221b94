/** How wide text is at a terminal, where letters of some scripts take two columns and others none. */
import truncatedWidth from "fast-string-truncated-width";

/** Columns that a text takes. */
export function widthOf(text: string): number {
  return truncatedWidth(text).width;
}

/** A text without escape sequences, cut to a width in columns, `ellipsis` included. */
export function cut(text: string, columns: number, ellipsis: string): string {
  const { index, ellipsed } = truncatedWidth(text, { limit: columns, ellipsis });
  return `${text.slice(0, index)}${ellipsed ? ellipsis : ""}`;
}

/** A text cut or filled with spaces to a width in columns. */
export function fit(text: string, columns: number, ellipsis: string): string {
  const shown = cut(text, columns, ellipsis);
  return shown + " ".repeat(Math.max(0, columns - widthOf(shown)));
}
