/** Lists keys with their secrets, on servers that show the secrets of existing keys. */
import * as z from "zod/mini";
import type { Endpoint } from "../endpoint.ts";
import { execute, withFallback } from "../execute.ts";
import { type KeyReference, keyReference } from "../key.ts";
import { listReferences } from "../list_keys.ts";

/** An existing key, to compare with a key that the server returns as a new one. Its secret must never be printed. */
export interface ExistingKey extends KeyReference {
  /** The secret or a mask; absent if the server does not show it. */
  readonly key?: string | null | undefined;
}

export const LIST_SECRETS = `query ListApiKeysWithSecrets { apiKeys { id name key } }`;

/** Lists every key that the caller may read, with its secret if the server shows it. */
export async function listSecrets(endpoint: Endpoint): Promise<readonly ExistingKey[]> {
  return await withFallback(async () => {
    const { apiKeys } = await execute(endpoint, LIST_SECRETS, {}, () => {
      const existing = z.extend(keyReference(), { key: z.optional(z.nullable(z.string())) });
      return z.object({ apiKeys: z.array(existing) });
    });
    return apiKeys;
  }, () => listReferences(endpoint));
}

/** Whether a key has the id or the secret of one of the existing keys. */
export function existedBefore({ id, key }: ExistingKey, existing: readonly ExistingKey[]): boolean {
  return existing.some((other) => other.id === id || (typeof key === "string" && other.key === key));
}
