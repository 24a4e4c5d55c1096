/** Sets by key that appear with their first member and go with their last. */
export function addTo<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const members = map.get(key);
  if (members === undefined) {
    map.set(key, new Set([value]));
  } else {
    members.add(value);
  }
}

export function deleteFrom<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const members = map.get(key);
  if (members?.delete(value) === true && members.size === 0) {
    map.delete(key);
  }
}
