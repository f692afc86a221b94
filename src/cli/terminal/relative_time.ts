/** Times as a distance from now, short enough for a column of a table. */

/**
 * The units: name, length and the shortest distance that is shown in it, in milliseconds. Below that distance, rounding
 * down would mislead: a key that expires in 59 days does not expire "in 1mo".
 */
const UNITS = [
  ["y", 365 * 86_400_000, 730 * 86_400_000],
  ["mo", 30 * 86_400_000, 120 * 86_400_000],
  ["d", 86_400_000, 2 * 86_400_000],
  ["h", 3_600_000, 2 * 3_600_000],
  ["m", 60_000, 60_000],
] as const;

/**
 * Does what `relativeTime` does for a time that has passed. Returns `now` for a time in the future, because the clock of a
 * server may be ahead.
 */
export function timeAgo(time: string, now: Date): string {
  return new Date(time) > now ? "now" : relativeTime(time, now);
}

/**
 * Returns, for example, `3d ago`, `in 89d` or `now`. Rounds down. Months have 30 days and years have 365.
 *
 * @param time a text from a server, which should be RFC 3339
 * @returns the text unchanged if it is not a time
 */
export function relativeTime(time: string, now: Date): string {
  const distance = new Date(time).getTime() - now.getTime();
  if (Number.isNaN(distance)) return time;
  const [unit, length] = UNITS.find(([, , shortest]) => Math.abs(distance) >= shortest) ?? [];
  if (length === undefined) return distance > 0 ? "in 1m" : "now";
  const amount = `${Math.floor(Math.abs(distance) / length)}${unit}`;
  return distance < 0 ? `${amount} ago` : `in ${amount}`;
}
