/** Finds keys by name. */
import * as z from "zod/mini";
import type { Name } from "../apikey/name.ts";
import type { Endpoint } from "./endpoint.ts";
import { execute, withFallback } from "./execute.ts";
import { type KeyReference, keyReference } from "./key.ts";
import { listReferences } from "./list_keys.ts";

export interface FoundKeys {
  readonly matches: readonly KeyReference[];
  /** Whether the server has any key that the caller may read, with this name or another. */
  readonly anyKey: boolean;
}

export const FIND_ON_EMBEDDED = `query FindApiKeys($name: String!) {
  apiKeysByName(name: $name) { id name }
  apiKeysExist
}`;

/**
 * Finds the keys with a name. The embedded server, the one built into this program, reads only these keys. On other
 * servers, this function lists all keys and compares the names.
 */
export async function findKeys(endpoint: Endpoint, name: Name): Promise<FoundKeys> {
  return await withFallback(async () => {
    const { apiKeysByName, apiKeysExist } = await execute(
      endpoint,
      FIND_ON_EMBEDDED,
      { name },
      () => z.object({ apiKeysByName: z.array(keyReference()), apiKeysExist: z.boolean() }),
    );
    return { matches: apiKeysByName, anyKey: apiKeysExist };
  }, async () => {
    const keys = await listReferences(endpoint);
    return { matches: keys.filter((key) => key.name.normalize("NFC") === name), anyKey: keys.length > 0 };
  });
}
