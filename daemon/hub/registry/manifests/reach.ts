import { blobsOf, type Manifest } from './manifest.ts';

/** What is led to, by digest. */
export interface Reached {
  manifests: ReadonlySet<string>;
  blobs: ReadonlySet<string>;
}

/** What manifests lead to: those that an index lists, those that are about them, and the blobs of all. Pure. */
export function reachedFrom(all: readonly Manifest[], starts: readonly string[]): Reached {
  const byDigest = new Map(all.map((one) => [one.digest, one]));
  const about = new Map<string, string[]>();
  for (const { subject, digest } of all) {
    const known = subject === null ? undefined : about.get(subject);
    if (subject !== null && known === undefined) {
      about.set(subject, [digest]);
    }
    known?.push(digest);
  }
  const manifests = new Set<string>();
  const waiting = [...starts];
  for (let digest = waiting.pop(); digest !== undefined; digest = waiting.pop()) {
    const found = byDigest.get(digest);
    if (found === undefined || manifests.has(digest)) {
      continue;
    }
    manifests.add(digest);
    waiting.push(...found.children.map((child) => child.digest));
    waiting.push(...(about.get(found.digest) ?? []));
  }
  const parts = [...manifests].flatMap((digest) => {
    const found = byDigest.get(digest);
    return found === undefined ? [] : blobsOf(found);
  });
  return { manifests, blobs: new Set(parts.map(({ digest }) => digest)) };
}
