import type { Vertex } from './op.ts';

/**
 * Ids of the caches that are mounted into commands of `--no-cache`: they begin empty, as with BuildKit
 * (`detectPrunedCacheID` of its solver). A command that only stands on what is made anew keeps them. Pure.
 */
export function freshCaches(targets: readonly (Vertex | undefined)[]): string[] {
  const ids = new Set<string>();
  const seen = new Set<Vertex>();
  const left = [...targets];
  while (left.length > 0) {
    const vertex = left.pop();
    if (vertex === undefined || seen.has(vertex)) {
      continue;
    }
    seen.add(vertex);
    left.push(...vertex.inputs);
    if (vertex.isFresh === true && vertex.op.kind === 'exec') {
      vertex.op.mounts.forEach((mount) => mount.type === 'cache' && ids.add(mount.id));
    }
  }
  return [...ids];
}
