/** Makes keys for tests of stores. */
import { parseName } from "../../src/apikey/name.ts";
import { hashSecret, makeSecret, SECRET_BYTES, secretTail } from "../../src/apikey/secret.ts";
import type { KeyState } from "../../src/store/lookups/key_state.ts";
import type { StoredKey } from "../../src/store/stored_key.ts";

/** Makes a unique key, and returns it with its secret. */
export async function newKeyWithSecret(
  name: string,
  fields: Partial<StoredKey> = {},
): Promise<{ readonly key: StoredKey; readonly secret: string }> {
  const secret = makeSecret(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
  const key: StoredKey = {
    id: `key_${crypto.randomUUID().replaceAll("-", "").slice(0, 22)}`,
    name: parseName(name),
    description: null,
    roles: ["GUEST"],
    permissions: [],
    createdAt: new Date("2026-02-03T04:05:06.789Z"),
    createdBy: null,
    lastUsedAt: null,
    secretHash: await hashSecret(secret),
    secretTail: secretTail(secret),
    revision: 1,
    enabled: true,
    expiresAt: null,
    updatedAt: null,
    managedBy: null,
    previousSecretHash: null,
    graceUntil: null,
    ...fields,
  };
  return { key, secret };
}

/** Returns what a look-up by the current secret of an active key returns. */
export function activeState({ id, revision }: StoredKey): KeyState {
  return { id, revision, status: "active", isPrevious: false, resourcesRevision: 0 };
}

/** Makes a unique key. */
export async function newKey(name: string, fields: Partial<StoredKey> = {}): Promise<StoredKey> {
  return (await newKeyWithSecret(name, fields)).key;
}

/** Makes unique keys with the names `prefix 1`, `prefix 2` and so on. */
export function newKeys(count: number, prefix = "key"): Promise<readonly StoredKey[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => newKey(`${prefix} ${i + 1}`)));
}
