import { createHash } from 'node:crypto';
import { ociArchive, type OciDescriptor } from '../../../storage/image-archives/oci-archive.ts';
import {
  canonicalRepository,
  parseReference,
  withDefaultTag,
} from '../../../storage/references/reference.ts';
import type { ExportedImage } from './exported-image.ts';
import { sendTarball, type ExportTo } from './export-files.ts';
import type { ExportDeps } from './ports.ts';
import type { ArchiveOutput } from './read-outputs.ts';

/** Gives images to the client as a tarball: layers pass through, one is on disk at a time. */
export async function exportArchive(
  { layers }: ExportDeps,
  images: readonly ExportedImage[],
  output: ArchiveOutput,
  to: ExportTo,
): Promise<ReadonlyMap<string, string>> {
  const { format, compression, isOci, annotations } = output;
  const names = output.names.map((name) => fullName(name));
  return await to.vertices.run(`exporting to ${format} image format`, async (vertex) => {
    let last: OciDescriptor | undefined;
    const given = images.map(({ layerIds, config, platform }) => {
      const diffIds = layers.diffIds(layerIds);
      const opened = layerIds.map((layerId, position) => ({
        diffId: diffIds[position] ?? '',
        open: () => layers.blob(layerId, { compression, signal: to.signal }),
      }));
      return { config, layers: opened, compression, isOci, platform, annotations };
    });
    const told = (kind: string, descriptor: OciDescriptor): void => {
      vertex.progress(`exporting ${kind} ${descriptor.digest}`, { isLast: true });
      last = kind === 'config' ? last : descriptor;
    };
    vertex.progress('exporting layers', {});
    const hasDockerManifest = format === 'docker';
    const options = { names, annotations: output.descriptorAnnotations, hasDockerManifest, told };
    await sendTarball(to, ociArchive(given, options), vertex);
    vertex.progress('exporting layers', { isLast: true });
    const config = images[0]?.config ?? '';
    const configDigest = `sha256:${createHash('sha256').update(config).digest('hex')}`;
    return new Map([
      ['containerimage.digest', last?.digest ?? ''],
      ['containerimage.descriptor', Buffer.from(JSON.stringify(last ?? {})).toString('base64')],
      ...(images.length === 1 ? [['containerimage.config.digest', configDigest] as const] : []),
      ...(names.length > 0 ? [['image.name', names.join(',')] as const] : []),
    ]);
  });
}

function fullName(name: string): string {
  const reference = withDefaultTag(parseReference(name));
  return `${canonicalRepository(reference)}:${reference.tag ?? 'latest'}`;
}
