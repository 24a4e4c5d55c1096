/**
 * An even 32-bit hash of a text under a seed (FNV-1a with the last mixing of MurmurHash3). Not for secrets: it breaks
 * ties between nodes, so that a simulation with the same seed repeats itself.
 */
export function seededHash(seed: number, text: string): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
