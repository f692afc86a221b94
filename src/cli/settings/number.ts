/** Numbers as they are written in settings. */
import { Failure, quote } from "../../apikey/failure.ts";

/**
 * Reads a whole number from 0 on.
 *
 * @throws {Failure} `USAGE`
 */
export function parseCount(text: string, setting: string, largest = 1_000_000_000): number {
  const count = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  if (count <= largest) return count;
  throw new Failure("USAGE", `${setting} takes a number from 0 to ${largest}, and not ${quote(text)}.`);
}

/**
 * Reads a limit, of which 0 is none.
 *
 * @throws {Failure} `USAGE`
 */
export function parseLimit(text: string, setting: string): number {
  return parseCount(text, setting) || Infinity;
}

const UNITS: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["B", 1],
  ["KB", 1000],
  ["MB", 1_000_000],
  ["KIB", 1024],
  ["MIB", 1_048_576],
]);

const LARGEST_SIZE = 100_000_000;

/**
 * Reads a size of 1 byte to 100 MB, such as `500KB`.
 *
 * @returns bytes
 * @throws {Failure} `USAGE`
 */
export function parseSize(text: string, setting: string): number {
  const [, amount, unit = ""] = /^(\d{1,9})\s*([a-z]*)$/i.exec(text.trim()) ?? [];
  const size = Number(amount) * (UNITS.get(unit.toUpperCase()) ?? NaN);
  if (size >= 1 && size <= LARGEST_SIZE) return size;
  throw new Failure("USAGE", `${setting} takes a size from 1B to 100MB, such as 500KB or 1MB, and not ${quote(text)}.`);
}
