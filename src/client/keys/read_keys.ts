/** Reads the keys of a server, page by page if the server can. */
import * as z from "zod/mini";
import type { KeyFilter } from "../../apikey/key_filter.ts";
import type { Endpoint } from "../endpoint.ts";
import { execute, withFallback } from "../execute.ts";
import { listReferences } from "../list_keys.ts";
import { badResponse } from "../response_failure.ts";
import {
  type ApiKey,
  KEY_FIELDS,
  type KeyField,
  type KeyInResponse,
  keyInResponse,
  selectFields,
  toApiKey,
} from "./api_key.ts";
import { createKeyFilter, fieldsOf } from "./filter_keys.ts";
import { serverFields, unsupported } from "./server_fields.ts";

export interface ReadOptions {
  /** Reads only the keys that this filter selects. By default, reads all keys. */
  readonly filter?: KeyFilter | undefined;
  /** The time for filters on this side. A server that filters uses its own clock. */
  readonly now?: Date | undefined;
  /** Filters on this side too, so that a server that ignores the filter cannot select keys for deletion. */
  readonly filtersAgain?: boolean | undefined;
  /** The fields that the caller needs, besides the id, the name and the fields that the filter reads. */
  readonly needs?: readonly KeyField[] | undefined;
}

/** The number of keys in a page. Servers of this program allow at most this many. */
const PAGE_SIZE = 1000;

/** The first page is smaller, so that its keys are there sooner. */
const FIRST_PAGE_SIZE = 20;

export const LIST_PAGE = `query ListApiKeys($first: Int!, $after: String, $filter: ApiKeyFilter) {
  apiKeyConnection(first: $first, after: $after, filter: $filter) { ${selectPage(KEY_FIELDS)} }
}`;

function selectPage(fields: readonly KeyField[]): string {
  return `edges { node { ${selectFields(fields)} } } pageInfo { hasNextPage endCursor }`;
}

interface Page {
  readonly keys: readonly KeyInResponse[];
  /** Reads the next page. Not set on the last page. */
  readonly next?: () => Promise<Page>;
}

/**
 * Reads the keys that the caller may read, and yields them page by page. A page can be empty. On a server with pages,
 * requests the next page only after the caller has used the previous one, and the keys are in the order of creation: a
 * key that exists during the whole time is in exactly one page.
 *
 * @throws {Failure} `UNSUPPORTED` if the server does not report a field that the caller or the filter needs; any failure
 * of {@linkcode execute}
 */
export async function* readKeys(
  endpoint: Endpoint,
  { filter, now = new Date(), needs = [], filtersAgain = false }: ReadOptions = {},
): AsyncGenerator<readonly ApiKey[], void> {
  const noFilter = (keys: readonly ApiKey[]): Promise<readonly ApiKey[]> => Promise.resolve(keys);
  let select = filtersAgain && filter !== undefined ? createKeyFilter(endpoint, filter, now) : noFilter;
  let page: Page | undefined = await withFallback(
    () => requestPage(endpoint, LIST_PAGE, { filter: filter && toFilterInput(filter) }),
    async () => {
      if (filter !== undefined) select = createKeyFilter(endpoint, filter, now);
      return await readOnOtherServer(endpoint, [...needs, ...fieldsOf(filter ?? {})]);
    },
  );
  while (page !== undefined) {
    // deno-lint-ignore no-await-in-loop -- one page at a time
    yield await select(page.keys.map(toApiKey));
    // deno-lint-ignore no-await-in-loop -- a page begins where the previous one ends
    page = await page.next?.();
  }
}

/** The filter as the GraphQL input `ApiKeyFilter`. */
function toFilterInput({ expiresBefore, unusedSince, ...filter }: KeyFilter): Readonly<Record<string, unknown>> {
  return { ...filter, expiresBefore: expiresBefore?.toISOString(), unusedSince: unusedSince?.toISOString() };
}

async function requestPage(
  endpoint: Endpoint,
  document: string,
  variables: Readonly<Record<string, unknown>>,
  after?: string,
): Promise<Page> {
  const { apiKeyConnection: { edges, pageInfo: { hasNextPage, endCursor } } } = await execute(
    endpoint,
    document,
    { ...variables, first: after === undefined ? FIRST_PAGE_SIZE : PAGE_SIZE, after },
    () =>
      z.object({
        apiKeyConnection: z.object({
          edges: z.array(z.object({ node: keyInResponse() })),
          pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: z.nullish(z.string()) }),
        }),
      }),
  );
  const keys = edges.map(({ node }) => node);
  if (!hasNextPage) return { keys };
  if (typeof endCursor === "string" && endCursor !== after) {
    return { keys, next: () => requestPage(endpoint, document, variables, endCursor) };
  }
  throw badResponse("pageInfo.endCursor: expected the cursor of the next page", endpoint, { mayChange: false });
}

/** Reads the first page, or all keys if the server has no pages, with the fields that the server has. */
async function readOnOtherServer(endpoint: Endpoint, needs: readonly KeyField[]): Promise<Page> {
  const has = await serverFields(endpoint);
  const missing = needs.find((field) => !has.has(`ApiKey.${field}`));
  if (missing !== undefined) {
    throw unsupported(endpoint, `ApiKey.${missing}`, "Filters and sort orders that do not need this field work.");
  }
  const fields = KEY_FIELDS.filter((field) => has.has(`ApiKey.${field}`));
  if (has.has("Query.apiKeyConnection")) {
    const document = `query ListApiKeys($first: Int!, $after: String) {
  apiKeyConnection(first: $first, after: $after) { ${selectPage(fields)} }
}`;
    return await requestPage(endpoint, document, {});
  }
  return await withFallback(async () => {
    const document = `query ListApiKeys { apiKeys { ${selectFields(fields)} } }`;
    const { apiKeys } = await execute(endpoint, document, {}, () => z.object({ apiKeys: z.array(keyInResponse()) }));
    return { keys: apiKeys };
  }, async () => ({ keys: await listReferences(endpoint) }));
}
