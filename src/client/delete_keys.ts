/** Deletes keys. */
import * as z from "zod/mini";
import type { Endpoint } from "./endpoint.ts";
import { execute } from "./execute.ts";
import type { KeyReference } from "./key.ts";

export const DELETE = `mutation DeleteApiKeys($input: DeleteApiKeyInput!) { apiKey { delete(input: $input) } }`;

/**
 * Deletes keys.
 *
 * @returns whether the server reports that it deleted them
 */
export async function deleteKeys(endpoint: Endpoint, keys: readonly KeyReference[]): Promise<boolean> {
  const input = { ids: keys.map(({ id }) => id) };
  const { apiKey } = await execute(
    endpoint,
    DELETE,
    { input },
    () => z.object({ apiKey: z.object({ delete: z.boolean() }) }),
  );
  return apiKey.delete;
}
