import type { LayerRow, TagRow } from '../../../storage/database/rows.ts';
import { uploadBlob } from '../../../storage/registry/push-repository.ts';
import type { RemoteRepository } from '../../../storage/registry/repository.ts';
import { familiarRepository } from '../../../storage/references/reference.ts';
import { failpoint } from '../../base/failpoint.ts';
import { OCCURRENCE } from '../../base/occurrence.ts';
import type { Semaphore } from '../../base/concurrency/semaphore.ts';
import type { ImageContext } from '../context.ts';
import type { HubLayers } from '../hub/hub-layers.ts';
import type { ImageRecord } from '../image-index.ts';
import { labelsOf } from '../wire.ts';
import type { PushedBlob } from './layer-push.ts';
import { blobOf } from './uploads.ts';

export interface PushContext extends ImageContext {
  /** For uploads. */
  slots: Semaphore;
  hubLayers: Pick<HubLayers, 'offer'>;
}

/** The push of what one name means. */
export interface OnePush {
  /** What the name means where no platform is asked for. */
  image: ImageRecord;
  row: TagRow;
  repository: RemoteRepository;
  domain: string;
  signal: AbortSignal;
}

/** Gives the configuration of an image to the repository, unless that has it. */
export async function pushConfig(
  { repository, signal }: OnePush,
  image: ImageRecord,
  isThere: boolean,
): Promise<PushedBlob> {
  const { id: digest, config } = image.row;
  if (!isThere) {
    const source = { digest, size: config.length, read: (from: number) => config.subarray(from) };
    await uploadBlob(repository, source, { signal });
  }
  return { digest, sizeBytes: config.length };
}

/** What the registry has now is known from now on: the next push finds it, and the image has a digest. */
export function commitPushed(
  { database, journal, index }: PushContext,
  { image, row }: OnePush,
  pushed: {
    digest: string;
    blobs: ReadonlyMap<string, PushedBlob>;
    layers: readonly LayerRow[];
    /** That was given to it; undefined = an image alone. */
    list?: string;
    /** What a hub calls the push; undefined = the registry is none, or had it already. */
    occurrence: string | undefined;
  },
): void {
  const { repository, tag } = row;
  // The image may have been removed meanwhile; then there is nothing to remember.
  const stays = index.get(image.row.id) !== undefined;
  const { list } = pushed;
  const means = list === undefined || index.lists.get(list) === undefined ? {} : { list };
  const digest = { repository, digest: pushed.digest, imageId: image.row.id, ...means };
  journal.commit((emit) => {
    failpoint('images.push.commit');
    if (stays) {
      database.digests.set(digest);
    }
    for (const layer of pushed.layers) {
      const { digest: blob, sizeBytes, isTar } = blobOf(pushed.blobs, layer);
      if (!isTar) {
        database.blobs.set({ layerId: layer.id, repository, digest: blob, sizeBytes });
      }
    }
    const name = familiarRepository(repository);
    const { occurrence } = pushed;
    // What a label of the image says of it is not so.
    const { [OCCURRENCE]: _, ...labels } = labelsOf(image);
    const attributes = { ...labels, name, ...(occurrence !== undefined && { [OCCURRENCE]: occurrence }) };
    emit({ type: 'image', action: 'push', actorId: `${name}:${tag}`, attributes });
  });
  if (stays) {
    index.setDigest(digest);
  }
}
