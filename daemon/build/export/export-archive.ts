import { ociArchive } from '../../../storage/image-archives/oci-archive.ts';
import type { OciDescriptor } from '../../../storage/image-archives/oci-documents.ts';
import {
  canonicalRepository,
  parseReference,
  withDefaultTag,
} from '../../../storage/references/reference.ts';
import { clientTarget } from '../cache/exchange/client-cache.ts';
import { imageIdOf } from '../control/finished-config.ts';
import type { Vertex } from '../control/vertices.ts';
import { annotationsOf } from './annotations.ts';
import { descriptorFact } from './descriptor-fact.ts';
import type { ExportedImage } from './exported-image.ts';
import { imageStatements } from '../../../storage/image-archives/image-statements.ts';
import { sendTarball, type ExportTo } from './export-files.ts';
import type { ExportDeps } from './ports.ts';
import { putImages } from './put-images.ts';
import type { ArchiveOutput } from './read-outputs.ts';

/** By which clients offer the directory that an image goes to. */
const STORE = 'export';

/** Gives images to the client as a tarball, or blob by blob into its directory: one layer is on disk at a time. */
export async function exportArchive(
  deps: ExportDeps,
  images: readonly ExportedImage[],
  output: ArchiveOutput,
  to: ExportTo,
): Promise<ReadonlyMap<string, string>> {
  const { format, isTar } = output;
  const names = output.names.map((name) => fullName(name));
  return await to.vertices.run(`exporting to ${format} image format`, async (vertex) => {
    vertex.progress('exporting layers', {});
    const named = { ...output, names };
    const root = isTar
      ? await sendArchive(deps, images, named, { ...to, vertex })
      : await fillDirectory(deps, images, named, { ...to, vertex });
    vertex.progress('exporting layers', { isLast: true });
    const [first] = images;
    return new Map([
      ['containerimage.digest', root?.digest ?? ''],
      ...(root === undefined ? [] : [descriptorFact(root)]),
      ...(first !== undefined && images.length === 1
        ? [['containerimage.config.digest', imageIdOf(first.config)] as const]
        : []),
      ...(names.length > 0 ? [['image.name', names.join(',')] as const] : []),
    ]);
  });
}

async function sendArchive(
  { layers }: ExportDeps,
  images: readonly ExportedImage[],
  { format, names, annotations, layers: { compression, level, isOci } }: ArchiveOutput,
  { vertex, ...to }: ExportTo & { vertex: Vertex },
): Promise<OciDescriptor | undefined> {
  let last: OciDescriptor | undefined;
  const given = images.map((image) => {
    const { layerIds, config, platform, isByPlatform } = image;
    const diffIds = layers.diffIds(layerIds);
    const opened = layerIds.map((layerId, position) => ({
      diffId: diffIds[position] ?? '',
      open: () => layers.blob(layerId, { compression, level, signal: to.signal }),
    }));
    return {
      config,
      layers: opened,
      compression,
      isOci,
      platform,
      isByPlatform,
      annotations: annotationsOf(annotations, 'manifest', platform),
      descriptorAnnotations: annotationsOf(annotations, 'manifest-descriptor', platform),
      statements: (digest: string) => imageStatements(image, { names, digest }),
    };
  });
  const told = (kind: string, descriptor: OciDescriptor): void => {
    vertex.progress(`exporting ${kind} ${descriptor.digest}`, { isLast: true });
    last = kind === 'manifest' || kind === 'manifest list' ? descriptor : last;
  };
  const group = {
    images: given,
    meant: given[0],
    names,
    annotations: annotationsOf(annotations, 'index'),
    descriptorAnnotations: annotationsOf(annotations, 'index-descriptor'),
    told,
  };
  const archive = ociArchive([group], format);
  await sendTarball(to, archive, vertex);
  return last;
}

/** The client writes `index.json` itself, of what it is told. */
async function fillDirectory(
  deps: ExportDeps,
  images: readonly ExportedImage[],
  { names, layers: format, annotations }: ArchiveOutput,
  { session, vertex, signal }: ExportTo & { vertex: Vertex },
): Promise<OciDescriptor> {
  using target = clientTarget(session.content(STORE), deps.caches);
  return await putImages(deps, target, images, {
    format,
    annotations,
    names,
    isByDigest: true,
    told: (kind, digest) => vertex.progress(`exporting ${kind} ${digest}`, { isLast: true }),
    signal,
  });
}

function fullName(name: string): string {
  const reference = withDefaultTag(parseReference(name));
  return `${canonicalRepository(reference)}:${reference.tag ?? 'latest'}`;
}
