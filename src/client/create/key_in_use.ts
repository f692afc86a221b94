/** The key with which the client authenticates. */
import type { Endpoint } from "../endpoint.ts";
import { identify } from "../identify.ts";
import type { ExistingKey } from "./list_secrets.ts";
import { retry } from "./retry.ts";

/**
 * Finds the key in use among the keys of the server: by its secret, or by asking the server if it does not show secrets.
 *
 * @returns `undefined` if the server does not report which key is in use
 */
export async function findKeyInUse(
  endpoint: Endpoint,
  keys: readonly ExistingKey[],
): Promise<ExistingKey | undefined> {
  const values = [...endpoint.headers.values()];
  const shown = keys.find(({ key }) => typeof key === "string" && values.some((value) => holds(value, key)));
  if (shown !== undefined) return shown;
  const self = await retry(endpoint, () => identify(endpoint));
  return keys.find(({ id }) => id === self?.id);
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
