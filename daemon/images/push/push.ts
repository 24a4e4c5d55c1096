import { createHash } from 'node:crypto';
import type { ProgressMessage } from '../../../api/types/image.ts';
import type { PushOptions } from '../../../api/types/ports.ts';
import type { LayerRow, TagRow } from '../../../storage/database/rows.ts';
import { connectRegistry } from '../../../storage/registry/connect.ts';
import { hasBlob, putManifest, uploadBlob } from '../../../storage/registry/push-repository.ts';
import { RemoteRepository } from '../../../storage/registry/repository.ts';
import {
  canonicalRepository,
  familiarName,
  familiarRepository,
  parseReference,
  withTag,
  type Reference,
} from '../../../storage/references/reference.ts';
import { EngineError, invalidArgument, invariant, isEngineError, notFound } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { OCCURRENCE } from '../../base/occurrence.ts';
import type { ImageContext } from '../context.ts';
import type { HubLayers } from '../hub/hub-layers.ts';
import type { ImageIndex, ImageRecord } from '../image-index.ts';
import type { Semaphore } from '../../base/concurrency/semaphore.ts';
import { waitingFor } from '../watch.ts';
import { refuseOtherPlatform } from '../platform-asked.ts';
import { labelsOf } from '../wire.ts';
import { LayerPush, type PushedBlob } from './layer-push.ts';
import { MANIFEST_TYPE, manifestBytes } from './manifest-bytes.ts';
import { pushProgress } from './push-progress.ts';

export interface PushContext extends ImageContext {
  /** For uploads. */
  slots: Semaphore;
  hubLayers: Pick<HubLayers, 'offer'>;
}

/** Gives a name's image, or all tags of a repository, to the registry that the name names. */
export async function* pushImages(
  context: PushContext,
  name: string,
  { tag, platform, auth, signal }: PushOptions,
): AsyncGenerator<ProgressMessage> {
  const reference = pushTarget(name, tag ?? '');
  // First of all, as dockerd does: failures from here on are told in the stream.
  yield { status: `The push refers to repository [${canonicalRepository(reference)}]` };
  const { domain } = reference;
  const tags = tagsOf(context.index, reference);
  const connecting = connectRegistry(context.registry(), domain, auth, signal);
  using session = yield* waitingFor(domain, connecting, (late) => late[Symbol.dispose]());
  const repository = new RemoteRepository(session, reference.path, 'pull,push');
  try {
    for (const row of tags) {
      // It may have been removed while the ones before it were pushed.
      const image = context.index.findWhole(row.imageId);
      refuseOtherPlatform(image, familiarName(reference), platform);
      yield* pushImage(context, { image, row, repository, domain, signal });
    }
  } catch (error) {
    throw pushError(error);
  }
}

/** What was refused for want of credentials is told without the request that found out, as dockerd does. */
function pushError(error: unknown): unknown {
  const words = isEngineError(error, 'remote') ? error.details['words'] : undefined;
  return typeof words === 'string' ? new EngineError('remote', words, { cause: error }) : error;
}

/** What the name in the path and `tag` mean together; no tag means all. Pure. */
export function pushTarget(name: string, tag: string): Reference {
  const reference = parseReference(name);
  if (reference.digest !== undefined) {
    throw invalidArgument('cannot push a digest reference');
  }
  return tag === '' ? reference : withTag(reference, tag);
}

function tagsOf(index: ImageIndex, reference: Reference): TagRow[] {
  const tags =
    reference.tag === undefined
      ? index.tagsIn(canonicalRepository(reference))
      : [index.tag(reference)].filter((row) => row !== undefined);
  if (tags.length === 0) {
    const repository = canonicalRepository(reference);
    throw index.tagsIn(repository).length === 0
      ? notFound(`An image does not exist locally with the tag: ${familiarRepository(repository)}`)
      : notFound(`tag does not exist: ${familiarName(reference)}`);
  }
  return tags;
}

interface OnePush {
  image: ImageRecord;
  row: TagRow;
  repository: RemoteRepository;
  domain: string;
  signal: AbortSignal;
}

async function* pushImage(context: PushContext, push: OnePush): AsyncGenerator<ProgressMessage> {
  const { index, pins, slots } = context;
  const { image, row, repository } = push;
  // Layers of an image that is removed meanwhile go when nothing here needs them any more.
  await using _collect = { [Symbol.asyncDispose]: () => context.collector.collect() };
  const layers = image.row.layerIds.map((id) => index.layer(id));
  using _pin = pins.pin(image.row.layerIds);
  // The same tar more than once in an image is one blob.
  const unique = [...new Map(layers.map((layer) => [layer.diffId, layer])).values()];
  const pushes = unique.map((layer) => new LayerPush(context, layer, push)).toReversed();
  // Asked first: a client that may not push is refused before gigabytes are compressed.
  const hasConfig = await hasBlob(repository, image.row.id, push.signal);
  await using uploads = new Uploads(pushes, slots, push.signal);
  yield* pushProgress(pushes, uploads.result);
  const blobs = await uploads.result;
  const config = await pushConfig(push, hasConfig);
  const bytes = manifestBytes(
    config,
    layers.map((layer) => blobOf(blobs, layer)),
  );
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  const manifest = { bytes, mediaType: MANIFEST_TYPE };
  const occurrence = await putManifest(repository, row.tag, manifest, push.signal);
  commitPushed(context, push, { digest, blobs, layers, occurrence });
  yield { status: `${row.tag}: digest: ${digest} size: ${bytes.length}` };
  yield { progressDetail: {}, aux: { Tag: row.tag, Digest: digest, Size: bytes.length } };
}

/** The layers' uploads side by side. Disposing stops them and waits until nothing reads a layer any more. */
class Uploads implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #all: Promise<readonly [string, PushedBlob]>[];
  /** Blobs by diff ID. Rejects with the failure of the layer that failed by itself. */
  readonly result: Promise<ReadonlyMap<string, PushedBlob>>;

  constructor(pushes: readonly LayerPush[], slots: Semaphore, signal: AbortSignal) {
    const any = AbortSignal.any([signal, this.#stop.signal]);
    this.#all = pushes.map(async (push) => {
      try {
        return [push.layer.diffId, await push.run(slots, any)] as const;
      } catch (error) {
        this.#stop.abort();
        throw error;
      }
    });
    this.result = this.#settle();
    // The push awaits it; a failure before that is not unhandled.
    this.result.catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#all);
  }

  async #settle(): Promise<ReadonlyMap<string, PushedBlob>> {
    const results = await Promise.allSettled(this.#all);
    const failures = results.filter((result) => result.status === 'rejected');
    const [first] = failures;
    if (first !== undefined) {
      throw (failures.find(({ reason }) => !isEngineError(reason, 'canceled')) ?? first).reason;
    }
    return new Map(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
  }
}

async function pushConfig({ image, repository, signal }: OnePush, isThere: boolean): Promise<PushedBlob> {
  const { id: digest, config } = image.row;
  if (!isThere) {
    const source = { digest, size: config.length, read: (from: number) => config.subarray(from) };
    await uploadBlob(repository, source, { signal });
  }
  return { digest, sizeBytes: config.length };
}

/** What the registry has now is known from now on: the next push finds it, and the image has a digest. */
function commitPushed(
  { database, journal, index }: PushContext,
  { image, row }: OnePush,
  pushed: {
    digest: string;
    blobs: ReadonlyMap<string, PushedBlob>;
    layers: readonly LayerRow[];
    /** What a hub calls the push; undefined = the registry is none, or had it already. */
    occurrence: string | undefined;
  },
): void {
  const { repository, tag } = row;
  // The image may have been removed meanwhile; then there is nothing to remember.
  const stays = index.get(image.row.id) !== undefined;
  const digest = { repository, digest: pushed.digest, imageId: image.row.id };
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

function blobOf(blobs: ReadonlyMap<string, PushedBlob>, { diffId }: LayerRow): PushedBlob {
  const blob = blobs.get(diffId);
  invariant(blob !== undefined, `layer ${diffId} was not pushed`);
  return blob;
}
