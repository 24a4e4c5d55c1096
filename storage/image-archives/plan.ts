import { wrong } from '../image/json.ts';
import type { Platform } from '../image/platform.ts';
import type { Archive } from './archive.ts';
import { planDockerArchive } from './docker-archive.ts';
import type { ImagePlan } from './image-plan.ts';
import { planLegacyArchive } from './legacy-archive.ts';
import { planOciLayout } from './oci-layout.ts';

/** Finds out which of the three formats a tarball has, checks it and says what to load. */
export async function planImages(archive: Archive, platform: Platform): Promise<ImagePlan[]> {
  // Tarballs of docker 25 and later hold both descriptions; the older one is the one with all names.
  if (archive.has('manifest.json')) {
    return await planDockerArchive(archive);
  }
  if (archive.has('index.json')) {
    return await planOciLayout(archive, platform);
  }
  const plans = await planLegacyArchive(archive);
  if (plans.length === 0) {
    throw wrong('the tarball', 'holds neither manifest.json, index.json nor repositories');
  }
  return plans;
}
