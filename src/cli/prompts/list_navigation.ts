/**
 * What lists and the permission grid have in common: the rows on the screen, moving the focus, editing the filter, and the key
 * that selects.
 */
import type { Key } from "node:readline";
import { widthOf } from "../terminal/text_width.ts";
import type { Screen } from "./run_prompt.ts";

/** The rows of a list that are on the screen. */
export interface Rows {
  /** The number of rows on the screen. */
  readonly page: number;
  readonly lines: readonly string[];
}

/** Columns that rows leave empty, because some terminals wrap after writing the last column. */
const RIGHT_MARGIN = 1;

/** Columns for the scroll bar and the space before it. */
export const SCROLL_BAR_WIDTH = 2;

/**
 * Draws the rows that fit on the screen besides `otherLines`, but at least 3, with the focused row in the middle if
 * possible. One line of the screen stays empty. If not all rows fit, adds a scroll bar, and a line that counts the rows
 * above and below.
 *
 * @param draw draws a row that is at most `columns` wide
 */
export function drawRows(
  count: number,
  focus: number,
  otherLines: number,
  draw: (index: number, columns: number) => string,
  { style: { dim, symbols }, terminal }: Screen,
): Rows {
  const { columns, rows } = terminal.size();
  const room = Math.max(3, rows - otherLines - 1);
  const isScrolled = count > room;
  const page = isScrolled ? Math.max(3, room - 1) : room;
  const width = columns - RIGHT_MARGIN - (isScrolled ? SCROLL_BAR_WIDTH : 0);
  const first = Math.max(0, Math.min(focus - Math.floor(page / 2), count - page));
  const lines = Array.from({ length: Math.min(page, count) }, (_, index) => draw(first + index, width));
  if (!isScrolled) return { page, lines };
  const thumb = Math.max(1, Math.round(page * page / count));
  const top = Math.round((page - thumb) * first / (count - page));
  const below = count - first - page;
  const hidden = [...(first > 0 ? [`${first} above`] : []), ...(below > 0 ? [`${below} below`] : [])];
  return {
    page,
    lines: [
      ...lines.map((line, index) => {
        const isThumb = index >= top && index < top + thumb;
        return `${line}${" ".repeat(Math.max(1, width - widthOf(line) + 1))}${
          isThumb ? symbols.scrollThumb : dim(symbols.scrollBar)
        }`;
      }),
      dim(`  ${hidden.join(symbols.separator)}`),
    ],
  };
}

/** What the keys of {@linkcode moveFocus} do. */
export const MOVE_KEYS = ["arrows to move", "pageup and pagedown to scroll", "home and end to jump"];

/**
 * The focused row after a key. The arrow keys wrap around.
 *
 * @param page how many rows the page keys move
 * @returns `undefined` if the key does not move the focus
 */
export function moveFocus(focus: number, count: number, { name }: Key, page: number): number | undefined {
  const last = Math.max(0, count - 1);
  switch (name) {
    case "up":
      return focus === 0 ? last : focus - 1;
    case "down":
      return focus === last ? 0 : focus + 1;
    case "pageup":
      return Math.max(0, focus - page);
    case "pagedown":
      return Math.min(last, focus + page);
    case "home":
      return 0;
    case "end":
      return last;
    default:
      return undefined;
  }
}

/** The longest filter, in UTF-16 code units. A long paste would make each keystroke slow. */
const MAX_FILTER_LENGTH = 60;

/**
 * The filter after a key: a character is appended, Backspace removes the last one, Ctrl-U removes all. A filter never
 * starts with a space.
 */
export function editFilter(filter: string, typed: string | undefined, { ctrl, meta, name }: Key): string {
  if (name === "backspace") return [...filter].slice(0, -1).join("");
  if (ctrl && name === "u") return "";
  const isCharacter = typed !== undefined && !ctrl && !meta && /^[^\p{C}\p{Zl}\p{Zp}]+$/u.test(typed);
  return isCharacter && filter.length < MAX_FILTER_LENGTH ? (filter + typed).trimStart() : filter;
}

/**
 * Whether a key selects.
 *
 * @param spaceSelects `false` if Space is a part of the filter, because names contain spaces
 */
export function isSelectKey({ name, shift }: Key, spaceSelects: boolean): boolean {
  return (name === "tab" && !shift) || (name === "space" && spaceSelects);
}
