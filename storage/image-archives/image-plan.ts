import type { ImageConfig } from '../image/image-config.ts';
import type { BlobRange } from '../layers/source.ts';
import type { Reference } from '../references/reference.ts';

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
