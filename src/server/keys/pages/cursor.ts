/** The cursors of `apiKeyConnection`: opaque texts that hold a place in an order. */
import { Failure } from "../../../apikey/failure.ts";
import type { KeySort, Position } from "../../../store/key_order.ts";

export function toCursor({ value, number }: Position, sort: KeySort): string {
  return new TextEncoder().encode(JSON.stringify([sort, number, value])).toBase64({ alphabet: "base64url" });
}

/**
 * Reads a cursor.
 *
 * @param sort the order that the request asks for
 * @throws {Failure} `USAGE` if the text is not a cursor, or if the cursor is for another order
 */
export function parseCursor(text: string, sort: KeySort): Position {
  const [ofSort, number, value] = decode(text);
  const isPosition = typeof number === "string" && /^\d{1,18}$/.test(number) && isValue(value, sort);
  if (isPosition && ofSort === sort) return { value, number };
  throw new Failure("USAGE", "after must be a cursor of a page with the same sort.");
}

function decode(text: string): readonly unknown[] {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    const parts: unknown = JSON.parse(decoder.decode(Uint8Array.fromBase64(text, { alphabet: "base64url" })));
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

/** Whether a value can stand in a cursor: a name, a time or, if keys without one are in the order, `null`. */
function isValue(value: unknown, sort: KeySort): value is string | null {
  if (sort === "CREATED") return value === null;
  if (sort === "NAME") return typeof value === "string" && !value.includes("\0") && value.isWellFormed();
  return value === null || typeof value === "string" && isTime(value);
}

/** Whether a text is a time as cursors hold it. PostgreSQL has no year 0. */
function isTime(text: string): boolean {
  const time = /^(?!0000)\d{4}-/.test(text) ? new Date(text) : new Date(NaN);
  return !Number.isNaN(time.getTime()) && time.toISOString() === text;
}
