/** Finds keys by name. */
import * as z from "zod/mini";
import { hasName, type Name } from "../apikey/name.ts";
import type { Endpoint } from "./endpoint.ts";
import { execute, withFallback } from "./execute.ts";
import { type KeyReference, keyReference } from "./key.ts";
import { listReferences } from "./list_keys.ts";

export const FIND_ON_EMBEDDED = `query FindApiKeys($name: String!) { apiKeysByName(name: $name) { id name roles } }`;

/** A key that was found by its name. */
export interface FoundKey extends KeyReference {
  /** `undefined` if the server does not report it. */
  readonly roles?: readonly string[] | undefined;
}

/**
 * Finds the keys with a name. The embedded server, the one built into this program, reads only these keys. On other
 * servers, this function lists all keys and compares the names.
 */
export async function findKeys(endpoint: Endpoint, name: Name): Promise<readonly FoundKey[]> {
  return await withFallback(async () => {
    const { apiKeysByName } = await execute(
      endpoint,
      FIND_ON_EMBEDDED,
      { name },
      () => z.object({ apiKeysByName: z.array(z.extend(keyReference(), { roles: z.optional(z.array(z.string())) })) }),
    );
    return apiKeysByName;
  }, async () => (await listReferences(endpoint)).filter((key) => hasName(key, name)));
}
