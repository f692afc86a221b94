/** What lists and the permission grid have in common: the count of selected items, and selecting items. */

/** Columns of the prompt line that the label, the filter and the count cannot use, including the empty last one. */
export const PROMPT_LINE_MARGIN = 7;

/** Says how many items are selected and listed. If the text exceeds `columns`, returns a shorter or an empty text. */
export function formatCount(selected: number, visible: number, total: number, columns: number): string {
  const listed = visible === total ? `${total}` : `${visible} of ${total}`;
  const counts = [`(${selected} selected, ${listed} listed)`, `(${selected} selected)`];
  return counts.find((count) => count.length <= columns) ?? "";
}

/** Adds all values to the set. If the set already has all of them, removes them. */
export function toggle<Value>(set: Set<Value>, values: readonly Value[]): void {
  const hasAll = values.every((value) => set.has(value));
  for (const value of values) {
    if (hasAll) set.delete(value);
    else set.add(value);
  }
}
