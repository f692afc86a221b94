/** Times as a distance from now, short enough for a column of a table. */

const UNITS = [
  ["y", 365 * 86_400_000],
  ["mo", 30 * 86_400_000],
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
] as const;

/**
 * Returns, for example, `3d ago`, `in 2mo` or `now`. Rounds down. Months have 30 days and years have 365.
 *
 * @param time a text from a server, which should be RFC 3339
 * @returns the text unchanged if it is not a time
 */
export function relativeTime(time: string, now: Date): string {
  const distance = new Date(time).getTime() - now.getTime();
  if (Number.isNaN(distance)) return time;
  const [unit, length] = UNITS.find(([, length]) => Math.abs(distance) >= length) ?? [];
  if (length === undefined) return distance > 0 ? "in 1m" : "now";
  const amount = `${Math.floor(Math.abs(distance) / length)}${unit}`;
  return distance < 0 ? `${amount} ago` : `in ${amount}`;
}
