/** Text measured in terminal columns. Some letters take two columns, and combining characters take none. */
import truncatedWidth from "fast-string-truncated-width";
import { wrapWords } from "./wrap.ts";

/** The width of a text in columns. */
export function widthOf(text: string): number {
  return truncatedWidth(text).width;
}

const graphemes = new Intl.Segmenter();

/**
 * Shortens a text to a width in columns, including the ellipsis. Leaves out the ellipsis if it does not fit.
 *
 * @param text without escape sequences
 */
export function truncate(text: string, columns: number, ellipsis: string): string {
  if (widthOf(text) <= columns) return text;
  const end = widthOf(ellipsis) <= columns ? ellipsis : "";
  let room = columns - widthOf(end);
  let index = 0;
  // The library can truncate too, but it miscounts if Latin, Han or Kana letters follow letters of another script.
  for (const { segment } of graphemes.segment(text)) {
    room -= widthOf(segment);
    if (room < 0) break;
    index += segment.length;
  }
  return `${text.slice(0, index)}${end}`;
}

/**
 * Shortens a text that has columns, with at least two spaces between them. Leaves out the columns that do not fit, so that
 * no date is cut. Shortens the last column instead, and the first column if it is too long itself.
 */
export function truncateColumns(text: string, columns: number, ellipsis: string): string {
  if (widthOf(text.trimEnd()) <= columns) return text.trimEnd();
  const gaps = [...text.matchAll(/ {2,}/g)];
  const last = gaps.at(-1);
  const lastStart = last === undefined ? 0 : widthOf(text.slice(0, last.index + last[0].length));
  const fitting = gaps.findLast(({ index }) => widthOf(text.slice(0, index)) <= columns);
  return fitting === undefined || lastStart + MIN_LAST_WIDTH <= columns
    ? truncate(text, columns, ellipsis)
    : text.slice(0, fitting.index);
}

/** If there is less room than this for the last column, it is left out too. */
const MIN_LAST_WIDTH = 6;

/** Shortens a text to a width in columns by replacing its middle with the ellipsis, so that its start and end remain. */
export function truncateMiddle(text: string, columns: number, ellipsis: string): string {
  const total = widthOf(text);
  const room = columns - widthOf(ellipsis);
  if (total <= columns || room < 2) return truncate(text, columns, ellipsis);
  const start = truncate(text, Math.ceil(room / 2), "");
  // The end begins at the first letter that leaves at most the rest of the room.
  let rest = total;
  let index = 0;
  for (const { segment } of graphemes.segment(text)) {
    if (rest <= room - widthOf(start)) break;
    rest -= widthOf(segment);
    index += segment.length;
  }
  return `${start}${ellipsis}${text.slice(index)}`;
}

/** Truncates a text or pads it with spaces to exactly this width in columns. */
export function fit(text: string, columns: number, ellipsis: string): string {
  const shown = truncate(text, columns, ellipsis);
  return shown + " ".repeat(Math.max(0, columns - widthOf(shown)));
}

/**
 * Breaks a text into lines of at most this many columns, between words if possible. If `columns` is less than two, uses
 * two, because one letter may take two columns.
 */
export function wrapText(text: string, columns: number): readonly string[] {
  const room = Math.max(2, columns);
  const lines: string[] = [];
  let rest = text;
  while (widthOf(rest) > room) {
    const fitting = truncate(rest, room, "");
    const space = rest[fitting.length] === " " ? fitting.length : fitting.lastIndexOf(" ");
    const line = rest.slice(0, space > 0 ? space : Math.max(1, fitting.length));
    lines.push(line.trimEnd());
    rest = rest.slice(line.length).trimStart();
  }
  return [...lines, rest];
}

/** A word. Quoted text is part of it, with its spaces. */
const WORD = /(?:"[^"]*"|(?<=^| )'[^']*'|\S)+/g;

/**
 * Breaks a message into lines of at most this many columns. Never breaks a word, a quoted text or a command: the terminal
 * itself continues a longer one on the next line, so that users can copy it.
 */
export function wrapMessage(text: string, columns: number): readonly string[] {
  const units: string[] = [];
  for (const [word] of text.matchAll(WORD)) {
    const unit = units.at(-1);
    if (unit !== undefined && isUnfinishedCommand(unit)) units[units.length - 1] = `${unit} ${word}`;
    else units.push(word);
  }
  return wrapWords(units, columns, " ", widthOf);
}

/** Whether a command continues after this text. It ends at a punctuation mark or, after `run:`, at the end of the text. */
function isUnfinishedCommand(text: string): boolean {
  return /^run: /i.test(`${text} `) || /^service-api(?: |$)/.test(text) && !/[.,;:?!)]$/.test(text);
}

/** Moves the cursor to the start of its line and erases the line. */
export const ERASE_LINE = "\r\x1b[2K";
