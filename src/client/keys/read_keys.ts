/** Reads the keys of a server, page by page if the server can. */
import * as z from "zod/mini";
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
import { serverFields, unsupported } from "./server_fields.ts";

export interface ReadOptions {
  /** The fields without which the keys are of no use. By default none, except the id and the name. */
  readonly needs?: readonly KeyField[] | undefined;
}

/** The number of keys in a page. The embedded server allows at most this many. */
const PAGE_SIZE = 1000;

/** The first page is smaller, so that its keys are there sooner. */
const FIRST_PAGE_SIZE = 100;

export const LIST_PAGE = pageDocument(KEY_FIELDS);

function pageDocument(fields: readonly KeyField[]): string {
  return `query ListApiKeys($first: Int!, $after: String) {
  apiKeyConnection(first: $first, after: $after) {
    edges { node { ${selectFields(fields)} } }
    pageInfo { hasNextPage endCursor }
  }
}`;
}

/** The keys of a response, and the document and cursor of the next request. */
interface Page {
  readonly keys: readonly KeyInResponse[];
  readonly next?: { readonly document: string; readonly after: string } | undefined;
}

/**
 * Reads every key that the caller may read, and yields them page by page. On a server with pages, requests the next page
 * only after the caller has processed the previous one, and the keys are in the order of creation: a key that exists
 * during the whole time is in exactly one page.
 *
 * @throws {Failure} `UNSUPPORTED` if the server does not report a field of `needs`; any failure of {@linkcode execute}
 */
export async function* readKeys(
  endpoint: Endpoint,
  { needs = [] }: ReadOptions = {},
): AsyncGenerator<readonly ApiKey[], void> {
  let page = await withFallback(
    () => requestPage(endpoint, LIST_PAGE, FIRST_PAGE_SIZE),
    () => readOnOtherServer(endpoint, needs),
  );
  while (true) {
    yield page.keys.map(toApiKey);
    const { next } = page;
    if (next === undefined) return;
    // deno-lint-ignore no-await-in-loop -- a page begins where the previous one ends
    page = await requestPage(endpoint, next.document, PAGE_SIZE, next.after);
  }
}

async function requestPage(endpoint: Endpoint, document: string, first: number, after?: string): Promise<Page> {
  const { apiKeyConnection: { edges, pageInfo: { hasNextPage, endCursor } } } = await execute(
    endpoint,
    document,
    { first, after },
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
  if (typeof endCursor === "string" && endCursor !== after) return { keys, next: { document, after: endCursor } };
  throw badResponse("pageInfo.endCursor: expected the cursor of the next page", endpoint, { mayChange: false });
}

/** Reads the first page, or all keys if the server has no pages, with the fields that the server has. */
async function readOnOtherServer(endpoint: Endpoint, needs: readonly KeyField[]): Promise<Page> {
  const has = await serverFields(endpoint);
  const missing = needs.find((field) => !has.has(`ApiKey.${field}`));
  if (missing !== undefined) {
    throw unsupported(endpoint, `ApiKey.${missing}`, "Without it, the server can still list all keys.");
  }
  const fields = KEY_FIELDS.filter((field) => has.has(`ApiKey.${field}`));
  if (has.has("Query.apiKeyConnection")) return await requestPage(endpoint, pageDocument(fields), FIRST_PAGE_SIZE);
  return await withFallback(async () => {
    const document = `query ListApiKeys { apiKeys { ${selectFields(fields)} } }`;
    const { apiKeys } = await execute(endpoint, document, {}, () => z.object({ apiKeys: z.array(keyInResponse()) }));
    return { keys: apiKeys };
  }, async () => ({ keys: await listReferences(endpoint) }));
}
