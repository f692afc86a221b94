/** Durations as they are written in settings: `500ms`, `30s`, `1.5m`, `2h`. */
import { Failure, quote } from "../apikey/failure.ts";

const UNITS: ReadonlyMap<string, number> = new Map([["ms", 1], ["s", 1000], ["m", 60_000], ["h", 3_600_000]]);

const LONGEST = 24 * 3_600_000;

/**
 * Reads a duration between 1 ms and 24 h.
 *
 * @returns milliseconds, a whole number
 * @throws {Failure} `USAGE`
 */
export function parseDuration(text: string, setting: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h)$/.exec(text.trim()) ?? [];
  const milliseconds = Math.round(Number(amount) * (UNITS.get(unit ?? "") ?? NaN));
  if (milliseconds >= 1 && milliseconds <= LONGEST) return milliseconds;
  throw new Failure(
    "USAGE",
    `${setting} takes a duration from 1ms to 24h, such as 500ms, 30s or 2m, and not ${quote(text)}.`,
  );
}
