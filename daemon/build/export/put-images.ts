import {
  annotated,
  imageIndex,
  imageManifest,
  imageTypes,
  statementDocuments,
  type ImageTypes,
  type OciDescriptor,
  type StatementBlob,
} from '../../../storage/image-archives/oci-documents.ts';
import { several } from '../../base/concurrency/several.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { Blob } from '../cache/exchange/manifest.ts';
import type { ImageTarget } from '../cache/exchange/ports.ts';
import { annotationsOf, type Annotation } from './annotations.ts';
import type { ExportedImage } from './exported-image.ts';
import { imageStatements } from '../../../storage/image-archives/image-statements.ts';
import type { LayerFormat } from './layer-format.ts';
import type { ExportDeps } from './ports.ts';

export interface PutOptions {
  format: LayerFormat;
  annotations: readonly Annotation[];
  /** What the images are called there is their digest alone. */
  isByDigest: boolean;
  /** What statements are about, beside their image's own names. */
  names: readonly string[];
  told: (kind: string, digest: string) => void;
  signal: AbortSignal;
}

/**
 * Gives images to a registry or to a directory of the client: layers, then what says what they are, then its name, so
 * that one that is cut off is the one before. Several platforms, and statements about an image, have an index. Answers
 * what the name means.
 */
export async function putImages(
  { layers }: Pick<ExportDeps, 'layers'>,
  target: ImageTarget,
  images: readonly ExportedImage[],
  options: PutOptions,
): Promise<OciDescriptor> {
  const { format, annotations, isByDigest, told, signal } = options;
  const types = imageTypes(format.isOci);
  const isIndex = images.some(({ attestations, isByPlatform }) => isByPlatform || attestations.length > 0);
  const manifests: OciDescriptor[] = [];
  const said: OciDescriptor[] = [];
  const known = await putLayers({ layers }, target, images, { ...options, types });
  for (const image of images) {
    const { platform } = image;
    const diffIds = layers.diffIds(image.layerIds);
    const config = await target.putBlob(image.config, types.config, signal);
    failpoint('build.export.config');
    told('config', config.digest);
    const bytes = imageManifest({
      types,
      config: plain(config),
      layers: diffIds.flatMap((diffId) => known.get(diffId) ?? []),
      annotations: annotationsOf(annotations, 'manifest', platform),
    });
    const isNamed = !isByDigest && !isIndex;
    const manifest = { bytes, mediaType: types.manifest };
    const { digest } = await target.putManifest(manifest, signal, isNamed ? undefined : { isByDigest: true });
    told('manifest', digest);
    const own = annotated(annotationsOf(annotations, 'manifest-descriptor', platform));
    manifests.push({ mediaType: types.manifest, digest, size: bytes.length, ...own, platform });
    const statements = imageStatements(image, { names: options.names, digest });
    if (statements.length > 0) {
      said.push(await putStatements(target, statements, { ...options, types, about: digest }));
    }
  }
  const [only] = manifests;
  if (only !== undefined && !isIndex) {
    return only;
  }
  failpoint('build.export.index');
  const index = {
    bytes: imageIndex(types, [...manifests, ...said], annotationsOf(annotations, 'index')),
    mediaType: types.index,
  };
  const put = await target.putManifest(index, signal, isByDigest ? { isByDigest } : undefined);
  told('manifest list', put.digest);
  return { ...plain(put), ...annotated(annotationsOf(annotations, 'index-descriptor')) };
}

/** Answers what the index is to have of them. */
async function putStatements(
  target: ImageTarget,
  statements: readonly StatementBlob[],
  { types, about, told, signal }: Pick<PutOptions, 'told' | 'signal'> & { types: ImageTypes; about: string },
): Promise<OciDescriptor> {
  const { blobs, manifest: bytes, descriptor } = statementDocuments(types, statements, about);
  for (const blob of blobs) {
    await target.putBlob(blob.bytes, blob.descriptor.mediaType, signal);
  }
  failpoint('build.export.statements');
  await target.putManifest({ bytes, mediaType: types.manifest }, signal, { isByDigest: true });
  told('attestation manifest', descriptor.digest);
  return descriptor;
}

/** Of all images, each once; by their diff IDs. */
async function putLayers(
  { layers }: Pick<ExportDeps, 'layers'>,
  target: ImageTarget,
  images: readonly ExportedImage[],
  { signal, ...options }: PutOptions & { types: ImageTypes },
): Promise<ReadonlyMap<string, OciDescriptor>> {
  const wanted = new Map<string, number>();
  for (const { layerIds } of images) {
    layers.diffIds(layerIds).forEach((diffId, position) => wanted.set(diffId, layerIds[position] ?? 0));
  }
  const max = limits.cacheUploadsMax;
  const put = await several([...wanted], { max, signal }, async ([diffId, layerId], ends) => {
    const descriptor = await putLayer({ layers }, target, layerId, { ...options, signal: ends });
    options.told('layer', descriptor.digest);
    return [diffId, descriptor] as const;
  });
  return new Map(put);
}

/** One that the target has already, or can have without sending, where its form is not asked for. */
async function putLayer(
  { layers }: Pick<ExportDeps, 'layers'>,
  target: ImageTarget,
  layerId: number,
  { format, types, signal }: Pick<PutOptions, 'format' | 'signal'> & { types: ImageTypes },
): Promise<OciDescriptor> {
  const { compression, level, isForced } = format;
  if (!isForced) {
    const { digest, size, mediaType } = await target.putLayer(layerId, signal);
    // The hub of this host takes tars as they are.
    return { mediaType: mediaType.endsWith('gzip') ? types.gzip : types.uncompressed, digest, size };
  }
  await using blob = await layers.blob(layerId, { compression, level, signal });
  return plain(await target.putStream(blob, types[compression], signal));
}

function plain({ mediaType, digest, size }: Blob): OciDescriptor {
  return { mediaType, digest, size };
}
