/** Durations as they are written in settings: `500ms`, `30s`, `1.5m`, `2h`, `90d`. */
import { Failure, quote } from "../../apikey/failure.ts";

const UNITS: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 24 * 3_600_000],
]);

/** The longest duration of most settings: a day, in milliseconds. */
const DAY = 24 * 3_600_000;

/**
 * Reads a duration of 1 ms or more.
 *
 * @param longest in milliseconds, a whole number of days; 24 hours by default
 * @returns milliseconds, a whole number
 * @throws {Failure} `USAGE`
 */
export function parseDuration(text: string, setting: string, longest = DAY): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(text.trim()) ?? [];
  const milliseconds = Math.round(Number(amount) * (UNITS.get(unit ?? "") ?? NaN));
  if (milliseconds >= 1 && milliseconds <= longest) return milliseconds;
  const examples = longest === DAY ? "24h, such as 500ms, 30s or 2m" : `${longest / DAY}d, such as 36h or 90d`;
  throw new Failure(
    "USAGE",
    `${setting} takes a duration from 1ms to ${examples}, and not ${quote(text)}.`,
  );
}
