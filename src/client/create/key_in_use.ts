/** The key with which the client authenticates. */
import type { Endpoint } from "../endpoint.ts";
import { identify } from "../identify.ts";
import type { ExistingKey } from "./list_secrets.ts";
import { retry } from "../retry.ts";

/**
 * Returns the one of the `candidates` that is the key in use. Recognizes it by its secret, or asks the server if the list
 * does not show the secret of the key in use.
 *
 * @param keys all keys of the server
 * @returns `undefined` if none of the candidates is in use, or if the server does not report the key in use
 */
export async function findKeyInUse(
  endpoint: Endpoint,
  keys: readonly ExistingKey[],
  candidates: readonly ExistingKey[],
): Promise<ExistingKey | undefined> {
  if (candidates.length === 0) return undefined;
  const self = findBySecretInUse(endpoint, keys) ?? await retry(endpoint, () => identify(endpoint));
  return candidates.find(({ id }) => id === self?.id);
}

/** Returns the key whose secret is in a header; `undefined` if the server does not show the secret. */
export function findBySecretInUse({ headers }: Endpoint, keys: readonly ExistingKey[]): ExistingKey | undefined {
  const values = [...headers.values()];
  return keys.find(({ key }) => typeof key === "string" && values.some((value) => holds(value, key)));
}

/** The same server, with another key in the header that holds the key in use. */
export function withKey(endpoint: Endpoint, inUse: ExistingKey, secret: string): Endpoint {
  const headers = [...endpoint.headers].map(([name, value]): readonly [string, string] => {
    if (value === inUse.key) return [name, secret];
    const isBearer = name === "authorization" || (typeof inUse.key === "string" && holds(value, inUse.key));
    return [name, isBearer ? `Bearer ${secret}` : value];
  });
  return { ...endpoint, headers: new Map(headers) };
}

function holds(value: string, secret: string): boolean {
  return value === secret || value === `Bearer ${secret}`;
}
