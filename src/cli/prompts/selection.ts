/** What is ticked in a list or a grid. */

/** Columns of the line of the question that neither the label, the filter nor the count takes; the last stays free. */
export const BESIDE_COUNT = 7;

/** How many are ticked, and how many the filter shows: as much of that as there are columns for. */
export function countOf(ticked: number, shown: number, all: number, columns: number): string {
  const counts = [`(${ticked} ticked, ${shown === all ? all : `${shown} of ${all}`})`, `(${ticked} ticked)`];
  return counts.find((count) => count.length <= columns) ?? "";
}

/** Puts all of them into the set, or takes them out when all are in it. */
export function toggle<Value>(set: Set<Value>, values: readonly Value[]): void {
  const areIn = values.every((value) => set.has(value));
  for (const value of values) {
    if (areIn) set.delete(value);
    else set.add(value);
  }
}
