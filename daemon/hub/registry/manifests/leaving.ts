import type { Manifest } from './manifest.ts';
import { reachedFrom } from './reach.ts';

export interface LeavingQuery {
  /** An index that goes, whatever leads to it; undefined = it has gone before. */
  index: Manifest | undefined;
  /** Digests of what it lists, and of what these list. */
  listed: readonly string[];
  /** Whether a manifest stays by itself: a tag leads to it, or a push. */
  stays: (manifest: Manifest) => boolean;
}

/** What an index lists, and what indexes list that are in it, each once; some of it may not be there. Pure. */
export function listedBelow(all: readonly Manifest[], index: Manifest): string[] {
  const byDigest = new Map(all.map((one) => [one.digest, one]));
  const found = new Set<string>();
  const waiting = [index];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const { digest } of next.children) {
      const child = found.has(digest) ? undefined : byDigest.get(digest);
      found.add(digest);
      waiting.push(...(child === undefined ? [] : [child]));
    }
  }
  return [...found];
}

/**
 * What goes with an index: what it lists and nothing that stays leads to, be it a tag, another index, or a manifest
 * that this one is about. Each comes behind the indexes that list it, so that none of these is ever without a part.
 * Pure.
 */
export function leavingWith(
  all: readonly Manifest[],
  { index, listed, stays }: LeavingQuery,
): readonly Manifest[] {
  const others = all.filter(({ digest }) => digest !== index?.digest);
  const asked = new Set(listed);
  const starts = others.filter((one) => !asked.has(one.digest) || stays(one)).map(({ digest }) => digest);
  const { manifests: staying } = reachedFrom(others, starts);
  const leaving = others.filter(({ digest }) => asked.has(digest) && !staying.has(digest));
  return [...(index === undefined ? [] : [index]), ...listsFirst(leaving)];
}

/** An index before what it lists. */
function listsFirst(manifests: readonly Manifest[]): Manifest[] {
  const byDigest = new Map(manifests.map((one) => [one.digest, one]));
  const lists = new Map<string, number>();
  for (const digest of manifests.flatMap(childrenOf)) {
    lists.set(digest, (lists.get(digest) ?? 0) + 1);
  }
  const ordered: Manifest[] = [];
  const free = manifests.filter(({ digest }) => !lists.has(digest));
  for (let next = free.shift(); next !== undefined; next = free.shift()) {
    ordered.push(next);
    for (const digest of childrenOf(next)) {
      const left = (lists.get(digest) ?? 0) - 1;
      lists.set(digest, left);
      const child = left === 0 ? byDigest.get(digest) : undefined;
      free.push(...(child === undefined ? [] : [child]));
    }
  }
  return ordered;
}

/** Each once, however often it is listed. */
function childrenOf({ children }: Manifest): string[] {
  return [...new Set(children.map(({ digest }) => digest))];
}
