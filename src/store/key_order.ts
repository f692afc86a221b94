/** The orders in which a store lists keys page by page, for both SQLite and PostgreSQL. */
import type { StoredKey } from "./stored_key.ts";

/**
 * `CREATED`: in the order of creation. `NAME`: by code point. `USED`: by the last use, keys that were never used first.
 * `EXPIRES`: by expiry, keys that do not expire last. Keys with equal values are in the order of creation.
 */
export type KeySort = "CREATED" | "NAME" | "USED" | "EXPIRES";

/** The place of a key in an order. */
export interface Position {
  /** The name or the time by which the keys are sorted; `null` if the key has none, and for `CREATED`. */
  readonly value: string | null;
  /** A decimal number that increases in the order of creation. */
  readonly number: string;
}

/** A key and its place in the order of the page. */
export interface OrderedKey {
  readonly key: StoredKey;
  readonly position: Position;
}

/** Which keys `listPage` returns. */
export interface PageOptions {
  readonly sort: KeySort;
  /** The position of the last key of the previous page; not set for the first page. */
  readonly after?: Position | undefined;
  /** The maximum number of keys. */
  readonly limit: number;
  /** The id of a key; if set, the page holds only this key and the keys that it created. */
  readonly owner?: string | undefined;
}

/** Returns the place of a key. `number` is the column `number` of its row. */
export function positionOf(key: StoredKey, number: unknown, sort: KeySort): Position {
  return { value: valueOf(key, sort), number: String(number) };
}

function valueOf(key: StoredKey, sort: KeySort): string | null {
  if (sort === "NAME") return key.name;
  if (sort === "USED") return key.lastUsedAt?.toISOString() ?? null;
  if (sort === "EXPIRES") return key.expiresAt?.toISOString() ?? null;
  return null;
}

/**
 * Reads keys page by page in the order of creation.
 *
 * @param size the maximum number of keys of a page
 * @param betweenPages awaited before each further page
 */
export async function* listByPage(
  readPage: (options: PageOptions) => Promise<readonly OrderedKey[]>,
  size: number,
  owner: string | undefined,
  betweenPages?: () => Promise<void> | undefined,
): AsyncIterable<StoredKey> {
  let after: Position | undefined;
  for (;;) {
    // deno-lint-ignore no-await-in-loop -- each page begins after the previous one
    const page = await readPage({ sort: "CREATED", after, limit: size, owner });
    for (const { key } of page) yield key;
    if (page.length < size) return;
    after = page.at(-1)?.position;
    // deno-lint-ignore no-await-in-loop -- lets other requests run between two pages
    await betweenPages?.();
  }
}
