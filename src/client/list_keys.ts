/** Lists the keys that the caller may read. */
import * as z from "zod/mini";
import type { Endpoint } from "./endpoint.ts";
import { execute, withFallback } from "./execute.ts";
import { type KeyReference, keyReference, type KeySummary } from "./key.ts";

export const LIST = `query ListApiKeys { apiKeys { id name } }`;

export const LIST_SUMMARIES = `query ListApiKeys { apiKeys { id name description roles createdAt } }`;

/** Lists every key that the caller may read, in the server's order. */
export async function listKeys(endpoint: Endpoint): Promise<readonly KeySummary[]> {
  return await withFallback(
    () => listSummaries(endpoint),
    async () =>
      (await listReferences(endpoint)).map((key) => ({ ...key, description: null, roles: [], createdAt: null })),
  );
}

async function listSummaries(endpoint: Endpoint): Promise<readonly KeySummary[]> {
  const { apiKeys } = await execute(endpoint, LIST_SUMMARIES, {}, () => {
    const summary = z.extend(keyReference(), {
      description: z.nullable(z.string()),
      roles: z.array(z.string()),
      createdAt: z.nullable(z.string()),
    });
    return z.object({ apiKeys: z.array(summary) });
  });
  return apiKeys;
}

/** Lists the same keys as `listKeys`, but reads only the id and the name, which every server reports. */
export async function listReferences(endpoint: Endpoint): Promise<readonly KeyReference[]> {
  return (await execute(endpoint, LIST, {}, () => z.object({ apiKeys: z.array(keyReference()) }))).apiKeys;
}
