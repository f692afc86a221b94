/** Numbers and sizes in settings. */
import * as z from "zod/mini";
import { quote } from "../../apikey/failure.ts";
import { type TextSchema, textSchema } from "./schema.ts";

/** A whole number from 0 to `largest`. */
export function countUpTo(largest: number): TextSchema<number> {
  return textSchema((text, reject) => {
    if (/^\d{1,10}$/.test(text) && Number(text) <= largest) return Number(text);
    return reject(`must be a whole number from 0 to ${largest}, not ${quote(text)}.`);
  });
}

/** A whole number from 0 to 1,000,000,000. */
export function countSchema(): TextSchema<number> {
  return countUpTo(1_000_000_000);
}

/** A limit: 0 means no limit and becomes `Infinity`. */
export function limitSchema(): TextSchema<number> {
  return z.pipe(countSchema(), z.transform((count: number) => count || Infinity));
}

const BYTES_PER_UNIT: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["B", 1],
  ["KB", 1000],
  ["MB", 1_000_000],
  ["KIB", 1024],
  ["MIB", 1_048_576],
]);

/** A size from 1 byte to a number of megabytes, in bytes. */
export function sizeSchema(megabytes = 100): TextSchema<number> {
  return textSchema((text, reject) => {
    const [, amount, unit = ""] = /^(\d{1,9})\s*([a-z]*)$/i.exec(text.trim()) ?? [];
    const size = Number(amount) * (BYTES_PER_UNIT.get(unit.toUpperCase()) ?? NaN);
    if (size >= 1 && size <= megabytes * 1_000_000) return size;
    return reject(`must be a size from 1B to ${megabytes}MB, for example 500KB or 1MB, not ${quote(text)}.`);
  });
}
