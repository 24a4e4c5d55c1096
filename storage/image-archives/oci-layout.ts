import { notFound } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { INDEX_TYPES, MANIFEST_TYPES, readIndex, type Descriptor } from '../image/descriptor.ts';
import { wrong } from '../image/json.ts';
import { choosePlatform, formatPlatform, type Platform } from '../image/platform.ts';
import type { Archive } from './archive.ts';
import type { ImagePlan } from './image-plan.ts';
import { nameOf, planManifest, readDocument } from './oci-blobs.ts';

/**
 * An OCI image layout: `index.json` points to manifests, or to indexes with one manifest per platform; every blob is
 * checked against its digest and size before it is read.
 */
export async function planOciLayout(
  archive: Archive,
  roots: readonly Descriptor[],
  host: Platform,
): Promise<ImagePlan[]> {
  const named: { name: string; manifest: Descriptor }[] = [];
  const known: Known = new Map();
  for (const root of roots) {
    const manifest = await toManifest({ archive, host, known }, root, 0);
    named.push({ name: nameOf(root.annotations), manifest });
  }
  const plans: ImagePlan[] = [];
  for (const { manifest, names } of pickOnePerName(named, host)) {
    plans.push(await planManifest(archive, manifest, names));
  }
  if (plans.length === 0) {
    throw wrong('index.json', 'names no image');
  }
  return plans;
}

/** One manifest for each name (several platforms may share one), and all names of one manifest together. */
function pickOnePerName(
  named: readonly { name: string; manifest: Descriptor }[],
  host: Platform,
): { manifest: Descriptor; names: string[] }[] {
  const chosen = new Map<string, { manifest: Descriptor; names: string[] }>();
  const byName = new Map<string, Descriptor[]>();
  for (const { name, manifest } of named) {
    const known = byName.get(name) ?? [];
    byName.set(name, known);
    known.push(manifest);
  }
  for (const [name, candidates] of byName) {
    const best = choosePlatform(candidates, host);
    // Unnamed images without a platform are as many images; a platform tells which one of them is meant.
    for (const manifest of best === undefined ? candidates : [best]) {
      const item = chosen.get(manifest.digest) ?? { manifest, names: [] };
      item.names.push(...(name === '' ? [] : [name]));
      chosen.set(manifest.digest, item);
    }
  }
  return [...chosen.values()];
}

/** What indexes lead to, so that each is read once however many point to it. */
type Known = Map<string, Descriptor>;

async function toManifest(
  at: { archive: Archive; host: Platform; known: Known },
  descriptor: Descriptor,
  depth: number,
): Promise<Descriptor> {
  const { archive, host, known } = at;
  if (MANIFEST_TYPES.has(descriptor.mediaType)) {
    return descriptor;
  }
  if (!INDEX_TYPES.has(descriptor.mediaType)) {
    throw wrong(descriptor.digest, `media type ${JSON.stringify(descriptor.mediaType)} is no image`);
  }
  if (depth >= limits.indexNestingMax) {
    throw wrong(descriptor.digest, `indexes nested deeper than ${limits.indexNestingMax}`);
  }
  const key = `${descriptor.mediaType} ${descriptor.digest} ${descriptor.size}`;
  const there = known.get(key);
  if (there !== undefined) {
    return there;
  }
  const index = readIndex(await readDocument(archive, descriptor), descriptor.digest);
  const best = choosePlatform(index, host) ?? (index.length === 1 ? index[0] : undefined);
  if (best === undefined) {
    throw notFound(`no matching manifest for ${formatPlatform(host)} in the manifest list entries`);
  }
  const found = await toManifest(at, best, depth + 1);
  known.set(key, found);
  return found;
}
