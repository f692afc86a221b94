/** Tables that fit the width of a terminal. */
import { truncateMiddle, widthOf } from "./text_width.ts";

export interface Column {
  readonly title: string;
  /** Whether the texts of the column may be shortened. Other columns are left out instead. */
  readonly isFlexible?: boolean;
}

/** A column that is shown. */
interface ShownColumn extends Column {
  /** The index among all columns. */
  readonly index: number;
  readonly width: number;
}

export type TableLayout = readonly ShownColumn[];

/** The number of spaces between two columns. */
const GAP = 2;

/** The width that flexible columns keep if leaving out another column makes that possible. */
const MIN_FLEXIBLE = 12;

/**
 * Chooses the columns to show and their widths. If the table is too wide, shortens the widest flexible columns. If they
 * became too narrow, leaves out other columns, beginning with the last.
 *
 * @param rows texts for the columns. Later rows may be longer; they are shortened.
 * @param columns the width of the terminal
 * @param isUseful whether to show the column with this index at all
 */
export function layoutTable(
  all: readonly Column[],
  rows: readonly (readonly string[])[],
  columns: number,
  isUseful: (index: number) => boolean,
): TableLayout {
  let shown = all.map((column, index): ShownColumn => {
    const width = rows.reduce((width, row) => Math.max(width, widthOf(row[index] ?? "")), widthOf(column.title));
    return { ...column, index, width };
  }).filter(({ index }) => isUseful(index));
  while (true) {
    const flexible = shown.filter(({ isFlexible }) => isFlexible).map(({ width }) => width);
    const others = shown.filter(({ isFlexible }) => !isFlexible);
    const room = columns - 1 - GAP * (shown.length - 1) - others.reduce((sum, { width }) => sum + width, 0);
    const last = others.at(-1);
    const needed = flexible.reduce((sum, width) => sum + Math.min(width, MIN_FLEXIBLE), 0);
    if (needed <= room || last === undefined) {
      const widest = widestFor(flexible, room);
      return shown.map((column) => column.isFlexible ? { ...column, width: Math.min(column.width, widest) } : column);
    }
    shown = shown.filter((column) => column !== last);
  }
}

/** Returns how wide the widest of these columns may be, so that all of them together fit. At least 1. */
function widestFor(widths: readonly number[], room: number): number {
  let widest = Math.max(1, ...widths);
  while (widest > 1 && widths.reduce((sum, width) => sum + Math.min(width, widest), 0) > room) widest--;
  return widest;
}

/**
 * Formats one row. Shortens long texts in the middle.
 *
 * @param texts one for each column, also for those that are not shown
 * @param paint adds colours to the text of the column with this index
 */
export function tableRow(
  layout: TableLayout,
  texts: readonly string[],
  ellipsis: string,
  paint: (text: string, index: number) => string = (text) => text,
): string {
  const cells = layout.map(({ index, width }) => {
    const text = truncateMiddle(texts[index] ?? "", width, ellipsis);
    return paint(text, index) + " ".repeat(Math.max(0, width - widthOf(text)));
  });
  return cells.join(" ".repeat(GAP)).trimEnd();
}
