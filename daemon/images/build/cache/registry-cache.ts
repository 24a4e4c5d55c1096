import { createHash } from 'node:crypto';
import type { Blob } from '../../../build/cache/exchange/manifest.ts';
import type { CacheSource, ImageTarget, RegistryOptions } from '../../../build/cache/exchange/ports.ts';
import { connectRegistry } from '../../../../storage/registry/connect.ts';
import { hasBlob, putManifest, uploadBlob } from '../../../../storage/registry/push-repository.ts';
import { RemoteRepository } from '../../../../storage/registry/repository.ts';
import {
  canonicalRepository,
  parseReference,
  withDefaultTag,
  type Reference,
} from '../../../../storage/references/reference.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import type { PullContext } from '../../pull/fetched-layers.ts';
import { registrySource } from '../../pull/layer-source.ts';
import { LayerPush } from '../../push/layer-push.ts';
import type { PushContext } from '../../push/pushed.ts';

const GZIP_LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip';
const TAR_LAYER = 'application/vnd.oci.image.layer.v1.tar';

/** A cache in a repository of a registry, to be read. */
export async function openSource(
  context: PullContext,
  name: string,
  options: RegistryOptions,
): Promise<CacheSource> {
  const { repository, domain } = await connect(context, name, { ...options, actions: 'pull' });
  const ownHub = context.ownHub();
  const hub = ownHub?.isOwn(domain) === true ? ownHub : undefined;
  return {
    manifest: async (wanted, signal) => await repository.document(wanted, signal),
    blob: async (blob, signal) => await repository.blob(descriptorOf(blob), signal),
    layer: ({ digest, size, mediaType }) =>
      registrySource(repository, descriptorOf({ digest, size, mediaType }), hub),
    [Symbol.dispose]: () => repository.session[Symbol.dispose](),
  };
}

/** A cache in a repository of a registry, to be written. */
export async function openTarget(
  context: PushContext,
  name: string,
  options: RegistryOptions,
): Promise<ImageTarget> {
  const opened = await connect(context, name, { ...options, actions: 'pull,push' });
  const { repository, reference, domain } = opened;
  return {
    has: async ({ digest }, signal) => await hasBlob(repository, digest, signal),
    putLayer: async (layerId, signal) => await pushLayer(context, layerId, { repository, domain, signal }),
    putStream: async ({ digest, bytes: size, read }, mediaType, signal) => {
      if (!(await hasBlob(repository, digest, signal))) {
        await uploadBlob(repository, { digest, size, read }, { signal });
      }
      return { digest, size, mediaType };
    },
    putBlob: async (bytes, mediaType, signal) => {
      const blob = blobOf(bytes, mediaType);
      if (!(await hasBlob(repository, blob.digest, signal))) {
        const read = (from: number): Buffer => bytes.subarray(from);
        await uploadBlob(repository, { digest: blob.digest, size: blob.size, read }, { signal });
      }
      return blob;
    },
    putManifest: async (manifest, signal, asked) => {
      const blob = blobOf(manifest.bytes, manifest.mediaType);
      const under = asked?.isByDigest === true ? blob.digest : (reference.tag ?? 'latest');
      await putManifest(repository, under, manifest, signal);
      return blob;
    },
    [Symbol.dispose]: () => repository.session[Symbol.dispose](),
  };
}

async function pushLayer(
  context: PushContext,
  layerId: number,
  to: { repository: RemoteRepository; domain: string; signal: AbortSignal },
): Promise<Blob> {
  const { index, pins, database, journal } = context;
  const layer = index.layer(layerId);
  using _pin = pins.pin([layerId]);
  const { digest, sizeBytes, isTar } = await new LayerPush(context, layer, to).run(context.slots, to.signal);
  if (!isTar) {
    const repository = `${to.domain}/${to.repository.path}`;
    // The next export finds it there, and compresses nothing.
    journal.commit(() => {
      failpoint('images.build.cache.push');
      database.blobs.set({ layerId, repository, digest, sizeBytes });
    });
  }
  return { digest, size: sizeBytes, mediaType: isTar ? TAR_LAYER : GZIP_LAYER };
}

async function connect(
  context: PullContext | PushContext,
  name: string,
  { auth, signal, actions }: RegistryOptions & { actions: 'pull' | 'pull,push' },
): Promise<{ repository: RemoteRepository; reference: Reference; domain: string }> {
  const reference = withDefaultTag(parseReference(name));
  const { domain, path } = reference;
  if (actions !== 'pull' && reference.digest !== undefined) {
    throw invalidArgument(`${canonicalRepository(reference)}: a cache cannot be written to a digest`);
  }
  const session = await connectRegistry(context.registry(), domain, await auth(domain), signal);
  return { repository: new RemoteRepository(session, path, actions), reference, domain };
}

function blobOf(bytes: Buffer, mediaType: string): Blob {
  return {
    digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
    size: bytes.length,
    mediaType,
  };
}

function descriptorOf({ digest, size, mediaType }: Blob): Parameters<typeof registrySource>[1] {
  return { digest, size, mediaType, platform: undefined, annotations: {} };
}
