/** What keys do in every list: move through it, and edit the text that filters it. */
import type { Key } from "node:readline";
import type { Screen } from "./run_prompt.ts";

/** How many rows of a list fit on the screen beside `otherLines`; one line stays free. */
export function pageOf({ terminal }: Screen, otherLines: number): number {
  return Math.max(3, terminal.size().rows - otherLines - 1);
}

/** `page` positions out of `count`, with the focused one in the middle where that is possible. */
export function windowOf(count: number, focus: number, page: number): readonly number[] {
  const first = Math.max(0, Math.min(focus - Math.floor(page / 2), count - page));
  return Array.from({ length: Math.min(page, count) }, (_, index) => first + index);
}

/**
 * Where a key leads from the focused position.
 *
 * @param page how far the page keys go
 * @returns `undefined` when the key does not move
 */
export function moved(focus: number, count: number, { name }: Key, page: number): number | undefined {
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

/** The longest filter, in UTF-16 code units: nobody types more, and what is pasted in is not looked for. */
const LONGEST_FILTER = 60;

/** The filter after a key: characters are added, Backspace takes the last one, Ctrl-U all. */
export function edited(filter: string, typed: string | undefined, { ctrl, meta, name }: Key): string {
  if (name === "backspace") return [...filter].slice(0, -1).join("");
  if (ctrl && name === "u") return "";
  const isCharacter = typed !== undefined && !ctrl && !meta && /^[^\p{C}\p{Z}]+$/u.test(typed);
  return isCharacter && filter.length < LONGEST_FILTER ? filter + typed : filter;
}
