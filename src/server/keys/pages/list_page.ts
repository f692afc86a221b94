/** Reads one page of keys. */
import { type KeyFilter, matchesFilter } from "../../../apikey/key_filter.ts";
import type { KeySort, OrderedKey, Position } from "../../../store/key_order.ts";
import type { Scope } from "../../auth/authorization.ts";
import { type RequestContext, throwIfAborted } from "../request_context.ts";

/** A page of keys in an order. */
export interface KeyPage {
  readonly keys: readonly (OrderedKey & { readonly sort: KeySort })[];
  readonly sort: KeySort;
  /** Where the next page begins: the last key that was read. `undefined` if no key was read. */
  readonly end: Position | undefined;
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
}

export interface PageRequest {
  readonly sort: KeySort;
  readonly after: Position | undefined;
  /** The maximum number of keys on the page. */
  readonly first: number;
  readonly filter: KeyFilter | undefined;
}

/** How many keys one statement reads. Between two statements, other requests can run. */
const CHUNK = 1000;

/** How many keys the filters of one request may read. Each field reads at least one chunk, even beyond this limit. */
export const MAX_SCAN = 10_000;

/**
 * Reads the keys of a page that the caller may read. A page whose filter matches few keys can be shorter than `first`,
 * because the number of keys that a request may read is limited.
 *
 * @throws {Failure} `USAGE` if the response exceeds a limit
 * @throws {Failure} `INTERRUPTED` if the client no longer waits for the response
 */
export async function readPage(
  { sort, after, first, filter }: PageRequest,
  context: RequestContext,
  scope: Scope,
): Promise<KeyPage> {
  const { store, caller, countKey, scan, lastUse, origin: { at } } = context;
  const owner = scope === "any" ? {} : { owner: caller.key?.id ?? "" };
  const keys: KeyPage["keys"][number][] = [];
  const page = { keys, sort, hasPreviousPage: after !== undefined };
  const limit = filter === undefined ? first + 1 : CHUNK;
  for (let end = after;;) {
    // deno-lint-ignore no-await-in-loop -- each chunk begins after the previous one
    const chunk = await store.listPage({ sort, limit, ...end && { after: end }, ...owner });
    throwIfAborted(context);
    for (const { key, position } of chunk) {
      const isMatch = filter === undefined || matchesFilter({ ...key, lastUsedAt: lastUse.of(key) }, filter, at);
      if (isMatch && keys.length === first) return { ...page, end, hasNextPage: true };
      end = position;
      if (!isMatch) continue;
      countKey(key);
      keys.push({ key, position, sort });
    }
    if (chunk.length < limit) return { ...page, end, hasNextPage: false };
    scan.left -= chunk.length;
    if (scan.left <= 0) return { ...page, end, hasNextPage: true };
    // deno-lint-ignore no-await-in-loop -- lets other requests run
    await new Promise((resolve) => setTimeout(resolve));
  }
}
