/** Sorts keys on this side. While keys change, only the server's order of creation is stable from page to page. */
import type { ApiKey } from "../../../../client/client.ts";

export const SORTS = ["name", "created", "used", "expires"] as const;

export type Sort = typeof SORTS[number];

/** The field that a server must report for each order. */
export const SORT_FIELDS = {
  name: "name",
  created: "createdAt",
  used: "lastUsedAt",
  expires: "expiresAt",
} as const satisfies Readonly<Record<Sort, keyof ApiKey>>;

/**
 * Sorts keys. By name: by code point. By time: earliest first. Keys that were never used come first, and keys that never
 * expire come last. Equal keys keep their order.
 */
export function sortKeys(keys: readonly ApiKey[], sort: Sort): readonly ApiKey[] {
  if (sort === "name") return keys.toSorted((a, b) => compareNames(a.name, b.name));
  const missing = sort === "expires" ? Infinity : -Infinity;
  const timeOf = (key: ApiKey): number => {
    const time = new Date(key[SORT_FIELDS[sort]] ?? NaN).getTime();
    return Number.isNaN(time) ? missing : time;
  };
  const timed = keys.map((key) => ({ key, time: timeOf(key) }));
  // The difference of two infinite times is not a number.
  return timed.toSorted((a, b) => a.time < b.time ? -1 : a.time > b.time ? 1 : 0).map(({ key }) => key);
}

/** Compares by code point. `<` compares code units, which have another order beyond U+FFFF. */
function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    if (a.charCodeAt(i) !== b.charCodeAt(i)) return (a.codePointAt(i) ?? 0) - (b.codePointAt(i) ?? 0);
  }
  return a.length - b.length;
}
