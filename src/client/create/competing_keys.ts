/**
 * Detects that another caller created a key with the same name at the same time. Servers that lag do not: both callers
 * get a key.
 */
import { Failure } from "../../apikey/failure.ts";
import { hasName } from "../../apikey/name.ts";
import type { Endpoint } from "../endpoint.ts";
import type { KeyReference, KeySummary } from "../key.ts";
import { listKeys } from "../list_keys.ts";
import { forCleanUp, poll, retry } from "../retry.ts";

/**
 * Waits until the server lists a new key, so that the key works from then on, and looks for other keys with its name.
 * Every caller comes to the same result, so one of the keys remains. If the server does not list the key within 3 s, or
 * if the requests fail, there is no conflict to report: the key exists.
 *
 * @param name the name in NFC
 * @param deleted keys that were deleted; a server that lags may list them again
 * @returns the earliest key if it is not the new key
 */
export async function findEarlierKey(
  endpoint: Endpoint,
  { id }: KeyReference,
  name: string,
  deleted: readonly KeyReference[],
): Promise<KeyReference | undefined> {
  const { timeout } = forCleanUp(endpoint);
  try {
    const keys = await poll(
      endpoint,
      () => retry(endpoint, () => listKeys(endpoint)),
      (keys) => keys.some((key) => key.id === id && hasName(key, name)),
      timeout,
    );
    const isDeleted = (key: KeyReference): boolean => deleted.some((other) => other.id === key.id);
    const [first] = keys.filter((key) => hasName(key, name) && !isDeleted(key)).toSorted(byCreation);
    return keys.some((key) => key.id === id) && first?.id !== id ? first : undefined;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

function byCreation(a: KeySummary, b: KeySummary): number {
  const [first, second] = [`${a.createdAt} ${a.id}`, `${b.createdAt} ${b.id}`];
  return first < second ? -1 : first > second ? 1 : 0;
}
