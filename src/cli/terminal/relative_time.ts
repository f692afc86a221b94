/** Times as a distance from now, short enough for a column of a table. */

/**
 * The units: name, length in milliseconds, and the number of units from which the next longer unit is used. A smaller
 * number would mislead: a key that expires in 45 days does not expire "in 2mo".
 */
const UNITS = [
  ["s", 1000, 60],
  ["m", 60_000, 120],
  ["h", 3_600_000, 48],
  ["d", 86_400_000, 120],
  ["mo", 30 * 86_400_000, 24],
] as const;

/** The longest unit. */
const YEAR = ["y", 365 * 86_400_000] as const;

/**
 * Does what `relativeTime` does for a time that has passed, but returns `now` for the last minute. Also returns `now` for
 * a time in the future, because the clock of a server may be ahead.
 */
export function timeAgo(time: string, now: Date): string {
  const distance = now.getTime() - new Date(time).getTime();
  return distance < MINUTE ? "now" : relativeTime(time, now);
}

/** Milliseconds. */
const MINUTE = 60_000;

/**
 * Returns, for example, `3d ago`, `in 90d` or `now`, rounded to the nearest unit. Months have 30 days and years have 365.
 *
 * @param time a text from a server, which should be RFC 3339
 * @returns the text unchanged if it is not a time
 */
export function relativeTime(time: string, now: Date): string {
  const distance = new Date(time).getTime() - now.getTime();
  if (Number.isNaN(distance)) return time;
  if (distance === 0) return "now";
  // A time that has not come yet is never "in 0s".
  const countOf = (length: number): number => Math.max(1, Math.round(Math.abs(distance) / length));
  const [unit, length] = UNITS.find(([, length, limit]) => countOf(length) < limit) ?? YEAR;
  const amount = `${countOf(length)}${unit}`;
  return distance < 0 ? `${amount} ago` : `in ${amount}`;
}

/** Returns a time and its distance from now, for example `2026-12-31T23:59:59.000Z (in 90d)`. */
export function withRelativeTime(time: string, now: Date): string {
  return `${time} (${relativeTime(time, now)})`;
}
