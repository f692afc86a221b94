/**
 * Sets a value in a map of limited size. If the map is full, removes the oldest entry.
 *
 * @param maxSize the maximum number of entries
 * @returns the value that was removed
 */
export function setBounded<Key, Value>(
  map: Map<Key, Value>,
  key: Key,
  value: Value,
  maxSize: number,
): Value | undefined {
  const [oldest] = map.size < maxSize || map.has(key) ? [] : map;
  if (oldest !== undefined) map.delete(oldest[0]);
  map.set(key, value);
  return oldest?.[1];
}
