/** Ranges of bytes in a file or in memory. */

export interface Range {
  readonly name: string;
  readonly start: number;
  /** The position after the last byte. */
  readonly end: number;
}

export function range(name: string, start: number, size: number): Range {
  return { name, start, end: start + size };
}

/** The memory of a process, which has room for every segment. */
export const MEMORY = range("the memory", 0, Number.MAX_SAFE_INTEGER);

/** @throws {Error} if a range is not inside `whole`, or if two ranges overlap. Empty ranges overlap nothing. */
export function checkRanges(ranges: readonly Range[], whole: Range): void {
  for (const { name, start, end } of ranges) {
    if (start < whole.start || end > whole.end) throw new Error(`${name} is not inside ${whole.name}`);
  }
  const sorted = ranges.filter(({ start, end }) => start < end).toSorted((one, other) => one.start - other.start);
  for (const [index, { name, end }] of sorted.entries()) {
    const next = sorted[index + 1];
    if (next !== undefined && end > next.start) throw new Error(`${name} and ${next.name} overlap`);
  }
}
