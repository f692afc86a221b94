/** Tables that fit the width of a terminal. */
import { truncate, truncateMiddle, widthOf } from "./text_width.ts";

export interface Column {
  readonly title: string;
  /** Whether the texts of the column may be shortened. Other columns are left out instead. */
  readonly isFlexible?: boolean;
  /**
   * Whether the column may be left out. By default, it may unless it is flexible. A column that is both flexible and
   * optional gets the room that the others leave, and its texts lose their ends. The texts of other columns lose their
   * middles.
   */
  readonly isOptional?: boolean;
  /** Whether the other flexible columns shrink first, to {@linkcode MIN_FLEXIBLE}. */
  readonly isLastToShrink?: boolean;
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

/** The width from which a column that is both flexible and optional is shown. */
const MIN_EXTRA = 20;

/**
 * Chooses the columns to show and their widths. If the table is too wide, shortens the widest flexible columns. If they
 * became too narrow, leaves out optional columns, beginning with the last.
 *
 * @param all of these, at most one is both flexible and optional
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
    const flexible = shown.filter(({ isFlexible }) => isFlexible);
    const others = shown.filter(({ isFlexible }) => !isFlexible);
    const room = columns - 1 - GAP * (shown.length - 1) - sumOf(others.map(({ width }) => width));
    const extra = flexible.find(({ isOptional }) => isOptional);
    const required = flexible.filter((column) => column !== extra).map(({ width }) => width);
    const rest = room - sumOf(required);
    const last = shown.findLast(({ isFlexible = false, isOptional = !isFlexible }) => isOptional);
    const fits = extra === undefined
      ? sumOf(required.map((width) => Math.min(width, MIN_FLEXIBLE))) <= room
      : Math.min(extra.width, MIN_EXTRA) <= rest;
    if (fits || last === undefined) {
      const kept = flexible.filter(({ isLastToShrink }) => isLastToShrink);
      const shrinking = flexible.filter((column) => column !== extra && !kept.includes(column)).map(({ width }) =>
        width
      );
      const roomForShrinking = room - sumOf(kept.map(({ width }) => width));
      const keepsWidth = sumOf(shrinking.map((width) => Math.min(width, MIN_FLEXIBLE))) <= roomForShrinking;
      const widest = keepsWidth ? widestFor(shrinking, roomForShrinking) : widestFor(required, room);
      return shown.map((column) => {
        if (!column.isFlexible || (keepsWidth && column.isLastToShrink)) return column;
        return { ...column, width: Math.min(column.width, column === extra ? rest : widest) };
      });
    }
    shown = shown.filter((column) => column !== last);
  }
}

function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0);
}

/** Returns how wide the widest of these columns may be, so that all of them together fit. At least 1. */
function widestFor(widths: readonly number[], room: number): number {
  let widest = Math.max(1, ...widths);
  while (widest > 1 && sumOf(widths.map((width) => Math.min(width, widest))) > room) widest--;
  return widest;
}

/**
 * Formats one row. Shortens texts that are too long.
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
  const cells = layout.map(({ index, width, isFlexible, isOptional }) => {
    const text = (isFlexible && isOptional ? truncate : truncateMiddle)(texts[index] ?? "", width, ellipsis);
    return paint(text, index) + " ".repeat(Math.max(0, width - widthOf(text)));
  });
  return cells.join(" ".repeat(GAP)).trimEnd();
}
