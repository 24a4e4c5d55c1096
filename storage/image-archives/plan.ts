import { INDEX_TYPES } from '../image/descriptor.ts';
import { wrong } from '../image/json.ts';
import type { Platform } from '../image/platform.ts';
import type { Archive } from './archive.ts';
import { planDockerArchive } from './docker-archive.ts';
import type { ImagePlan } from './image-plan.ts';
import { planLegacyArchive } from './legacy-archive.ts';
import { readRoots } from './oci-blobs.ts';
import { planOciLayout } from './oci-layout.ts';
import { planLists, type ListPlan } from './oci-lists.ts';

/** All that a tarball holds. */
export interface ArchivePlan {
  images: ImagePlan[];
  lists: ListPlan[];
}

/**
 * Finds out which of the three formats a tarball has, checks it and says what to load. Several platforms under one name
 * are a list; `isAsked`: only the image for `platform` is wanted of it.
 */
export async function planImages(
  archive: Archive,
  platform: Platform,
  { isAsked }: { isAsked: boolean },
): Promise<ArchivePlan> {
  const roots = archive.has('index.json') ? await readRoots(archive) : [];
  const hasIndexes = roots.some(({ mediaType }) => INDEX_TYPES.has(mediaType));
  const { lists, rest } = isAsked ? { lists: [], rest: roots } : await planLists(archive, roots);
  // Tarballs of docker 25 and later hold both descriptions; the older one is the one with all names, of one platform.
  if (archive.has('manifest.json') && !hasIndexes && lists.length === 0) {
    return { images: await planDockerArchive(archive), lists: [] };
  }
  if (archive.has('index.json')) {
    const images = lists.length > 0 && rest.length === 0 ? [] : await planOciLayout(archive, rest, platform);
    return { images, lists };
  }
  const plans = await planLegacyArchive(archive);
  if (plans.length === 0) {
    throw wrong('the tarball', 'holds neither manifest.json, index.json nor repositories');
  }
  return { images: plans, lists: [] };
}
