import type { BlobRange } from '../layers/source.ts';
import type { Reference } from '../references/reference.ts';
import type { Archive } from './archive.ts';
import { planDockerArchive } from './docker-archive.ts';
import type { ImageConfig } from '../image/image-config.ts';
import { wrong } from '../image/json.ts';
import { planLegacyArchive } from './legacy-archive.ts';
import { planOciLayout } from './oci-layout.ts';
import type { Platform } from '../image/platform.ts';

/** A layer to unpack. What is known of it beforehand is checked against its bytes. */
export interface PlannedLayer {
  blob: BlobRange;
  diffId?: string;
  /** Of the bytes in the tarball. */
  digest?: string;
}

/** One image of a tarball: everything that loading it needs. */
export interface ImagePlan {
  /** With tags. */
  names: Reference[];
  /** Id of the image that it was made from, as the tarball says; not checked. */
  parentId?: string;
  /** Bottom first. */
  layers: PlannedLayer[];
  /** `made`: the oldest format has no configuration; it is made once the layers' diff IDs are known. */
  config:
    | { kind: 'given'; bytes: Buffer; parsed: ImageConfig }
    | { kind: 'made'; make: (diffIds: readonly string[]) => Buffer };
}

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
