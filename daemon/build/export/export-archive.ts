import { createHash } from 'node:crypto';
import { ociArchive, type OciDescriptor } from '../../../storage/image-archives/oci-archive.ts';
import { parseImageConfig } from '../../../storage/image/image-config.ts';
import {
  canonicalRepository,
  parseReference,
  withDefaultTag,
} from '../../../storage/references/reference.ts';
import type { ExportedImage } from './exported-image.ts';
import { sendTarball, type ExportTo } from './export-files.ts';
import type { ExportDeps } from './ports.ts';
import type { ArchiveOutput } from './read-outputs.ts';

/** Gives an image to the client as a tarball: layers pass through, one is on disk at a time. */
export async function exportArchive(
  { layers }: ExportDeps,
  { layerIds, config }: ExportedImage,
  output: ArchiveOutput,
  to: ExportTo,
): Promise<ReadonlyMap<string, string>> {
  const { format, compression, isOci, annotations } = output;
  const { os, architecture, variant } = parseImageConfig(config, 'image');
  const diffIds = layers.diffIds(layerIds);
  const names = output.names.map((name) => fullName(name));
  const configDigest = `sha256:${createHash('sha256').update(config).digest('hex')}`;
  return await to.vertices.run(`exporting to ${format} image format`, async (vertex) => {
    let manifest: OciDescriptor | undefined;
    const image = {
      config,
      layers: layerIds.map((layerId, position) => ({
        diffId: diffIds[position] ?? '',
        open: () => layers.blob(layerId, { compression, signal: to.signal }),
      })),
      compression,
      isOci,
      platform: { os, architecture, ...(variant !== '' && { variant }) },
      annotations,
    };
    const told = (descriptor: OciDescriptor): void => {
      manifest = descriptor;
      vertex.progress('exporting layers', { isLast: true });
      vertex.progress(`exporting manifest ${descriptor.digest}`, { isLast: true });
      vertex.progress(`exporting config ${configDigest}`, { isLast: true });
    };
    const hasDockerManifest = format === 'docker';
    const options = { names, annotations: output.descriptorAnnotations, hasDockerManifest, told };
    await sendTarball(to, ociArchive(image, options), vertex);
    const described = { ...manifest };
    return new Map([
      ['containerimage.digest', manifest?.digest ?? ''],
      ['containerimage.config.digest', configDigest],
      ['containerimage.descriptor', Buffer.from(JSON.stringify(described)).toString('base64')],
      ...(names.length > 0 ? [['image.name', names.join(',')] as const] : []),
    ]);
  });
}

function fullName(name: string): string {
  const reference = withDefaultTag(parseReference(name));
  return `${canonicalRepository(reference)}:${reference.tag ?? 'latest'}`;
}
