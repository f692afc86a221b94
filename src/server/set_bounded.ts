/**
 * Sets a value in a map that is to stay small: when it is full, the entry that was added first is forgotten.
 *
 * @param most entries, at the most
 */
export function setBounded<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  const [oldest] = map.size < most || map.has(key) ? [] : map.keys();
  if (oldest !== undefined) map.delete(oldest);
  map.set(key, value);
}
