/**
 * What lists and the permission grid have in common: the visible rows, moving the focus, editing the filter, and the key
 * that selects.
 */
import type { Key } from "node:readline";
import type { Screen } from "./run_prompt.ts";

/** How many list rows fit on the screen besides `otherLines`, but at least 3. One line stays empty. */
export function pageSize({ terminal }: Screen, otherLines: number): number {
  return Math.max(3, terminal.size().rows - otherLines - 1);
}

/** The indexes of up to `page` of `count` rows, with the focused row in the middle if possible. */
export function visibleRange(count: number, focus: number, page: number): readonly number[] {
  const first = Math.max(0, Math.min(focus - Math.floor(page / 2), count - page));
  return Array.from({ length: Math.min(page, count) }, (_, index) => first + index);
}

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

/** Whether a key selects. Space selects only while the filter is empty, because names contain spaces. */
export function isSelectKey({ name, shift }: Key, filter: string): boolean {
  return (name === "tab" && !shift) || (name === "space" && filter === "");
}
