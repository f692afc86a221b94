/**
 * Sets a value in a map of limited size. If the map is full, removes the oldest entry.
 *
 * @param maxSize the maximum number of entries
 */
export function setBounded<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, maxSize: number): void {
  const [oldest] = map.size < maxSize || map.has(key) ? [] : map.keys();
  if (oldest !== undefined) map.delete(oldest);
  map.set(key, value);
}
