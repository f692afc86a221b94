/** Durations and times of a key's life: `36h`, `90d`, `2026-12-31T23:59:59Z`. */
import { Failure, quote } from "./failure.ts";

/** The units of durations, in milliseconds. */
export const MILLISECONDS_PER_UNIT: ReadonlyMap<string, number> = new Map([
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
  ["w", 7 * 86_400_000],
]);

/** The longest duration, in days: about 1000 years. Every time that it leads to has a year of four digits. */
const MAX_DAYS = 365_000;

/**
 * Parses a whole number and a unit: `s`, `m`, `h`, `d` or `w`. Accepts at most 365000 days.
 *
 * @returns the duration in milliseconds; may be 0
 * @throws {Failure} `USAGE`
 */
export function parseDuration(text: string): number {
  const [, amount, unit] = /^(\d+)\s*([smhdw])$/.exec(text.trim()) ?? [];
  const milliseconds = Number(amount) * (MILLISECONDS_PER_UNIT.get(unit ?? "") ?? NaN);
  if (milliseconds <= MAX_DAYS * 86_400_000) return milliseconds;
  const problem = Number.isNaN(milliseconds) ? "is not valid" : "is too long";
  throw new Failure(
    "USAGE",
    `The duration ${quote(text)} ${problem}. Write a whole number and s, m, h, d or w, for example 36h or 90d. The ` +
      `longest duration is ${MAX_DAYS}d.`,
  );
}

const RFC_3339 = /^(\d{4}-\d{2}-\d{2})T((?:[01]\d|2[0-3])(?::[0-5]\d){2})(\.\d+)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/**
 * Parses a time in the format of RFC 3339 section 5.6. Truncates fractions of a millisecond. Rejects leap seconds.
 *
 * @throws {Failure} `USAGE` if the text does not have this format, or if the time in UTC is not in the years 0 to 9999
 */
export function parseTime(text: string): Date {
  const [, date = "", time = "", fraction = ".", offset = ""] = RFC_3339.exec(text.trim().toUpperCase()) ?? [];
  const parsed = new Date(`${date}T${time}${fraction.slice(0, 4).padEnd(4, "0")}${offset}`);
  // JavaScript reads February 30 as March 2.
  if (isDay(date) && /^\d{4}-/.test(toText(parsed))) return parsed;
  throw new Failure(
    "USAGE",
    `${quote(text)} is not a time in the format of RFC 3339. Write it like 2026-12-31T23:59:59Z.`,
  );
}

function isDay(date: string): boolean {
  return toText(new Date(`${date}T00:00:00Z`)).startsWith(date) && date !== "";
}

function toText(time: Date): string {
  return Number.isNaN(time.getTime()) ? "" : time.toISOString();
}

/** When a key expires, as a user states it. */
export interface ExpiryFlags {
  /** A duration from now. */
  readonly expiresIn?: string | undefined;
  /** A time. */
  readonly expiresAt?: string | undefined;
}

/**
 * Returns when a key expires; `undefined` if neither flag is given.
 *
 * @throws {Failure} `USAGE` if both flags are given, if one of them is malformed, or if the time is not in the future
 */
export function expiryFrom({ expiresIn, expiresAt }: ExpiryFlags, now: Date): Date | undefined {
  if (expiresIn !== undefined && expiresAt !== undefined) {
    throw new Failure("USAGE", "Give either --expires-in or --expires-at, not both.");
  }
  if (expiresIn !== undefined) return requireFuture(new Date(now.getTime() + parseDuration(expiresIn)), now);
  return expiresAt === undefined ? undefined : requireFuture(parseTime(expiresAt), now);
}

function requireFuture(time: Date, now: Date): Date {
  if (time > now) return time;
  throw new Failure("USAGE", `The expiry ${time.toISOString()} is not in the future. Choose a later time.`);
}
