import { unreachable } from '../../base/errors.ts';
import { refuseAnnotations } from './annotations.ts';
import { datedConfig } from './dated-config.ts';
import { attestationsFor } from '../attest/attested-outputs.ts';
import { exportArchive } from './export-archive.ts';
import { exportFiles, type ExportTo } from './export-files.ts';
import { exportImage } from './export-image.ts';
import type { ExportedImage } from './exported-image.ts';
import { attestedFormat } from './layer-format.ts';
import type { ExportDeps } from './ports.ts';
import type { Output } from './read-outputs.ts';
import { rewriteLayers } from './rewrite-layers.ts';

/** Gives what was built to each output, one after the other; answers what the client is told of all of them. */
export async function exportAll(
  deps: ExportDeps,
  built: readonly ExportedImage[],
  outputs: readonly Output[],
  to: Omit<ExportTo, 'target'>,
): Promise<ReadonlyMap<string, string>> {
  const told = new Map<string, string>();
  for (const [position, output] of outputs.entries()) {
    to.signal.throwIfAborted();
    const target = { output: position, facts: new Map<string, string>() };
    const images = built.map((image) => {
      const attestations = attestationsFor(output, image);
      return datedImage({ ...image, attestations }, output.epochSeconds);
    });
    using rewritten =
      'rewritesTimes' in output && output.rewritesTimes
        ? await rewriteLayers(deps, images, to)
        : { images, [Symbol.dispose]: () => undefined };
    const facts = await exportOne(deps, rewritten.images, inFormat(output, images), { ...to, target });
    facts.forEach((value, name) => told.set(name, value));
  }
  return told;
}

async function exportOne(
  deps: ExportDeps,
  images: readonly ExportedImage[],
  output: Output,
  to: ExportTo,
): Promise<ReadonlyMap<string, string>> {
  const platforms = images.map(({ platform }) => platform);
  const isIndex = images.some(({ isByPlatform }) => isByPlatform) || isAttested(images);
  switch (output.kind) {
    case 'image':
      refuseAnnotations(output.annotations, { platforms, isIndex });
      return await exportImage(deps, images, output, to);
    case 'local':
    case 'tar':
      await exportFiles(deps, images, output, to);
      return new Map();
    case 'archive':
      refuseAnnotations(output.annotations, { platforms, isIndex });
      return await exportArchive(deps, images, output, to);
    default:
      return unreachable(output);
  }
}

function isAttested(images: readonly ExportedImage[]): boolean {
  return images.some(({ attestations }) => attestations.length > 0);
}

function inFormat(output: Output, images: readonly ExportedImage[]): Output {
  return 'layers' in output && isAttested(images)
    ? { ...output, layers: attestedFormat(output.layers) }
    : output;
}

/** What an output says of the moment goes before what the build says. Pure. */
function datedImage(image: ExportedImage, own: number | undefined): ExportedImage {
  const epochSeconds = own ?? image.epochSeconds;
  return epochSeconds === undefined
    ? image
    : { ...image, epochSeconds, config: datedConfig(image.config, epochSeconds) };
}
