import type { BuildLayers } from '../ports.ts';
import type { Vertices } from '../control/vertices.ts';
import type { ExportedImage } from './exported-image.ts';

/** Makes the image in the store, with its names; answers what the client is told. */
export async function exportImage(
  vertices: Vertices,
  layers: Pick<BuildLayers, 'makeImage'>,
  { image, names }: { image: ExportedImage; names: readonly string[] },
): Promise<ReadonlyMap<string, string>> {
  return await vertices.run('exporting to image', async (vertex) => {
    vertex.progress('exporting layers', { isLast: true });
    const { layerIds, config } = image;
    const { id, names: full } = await layers.makeImage({ layerIds, config, names });
    vertex.progress(`writing image ${id}`, { isLast: true });
    full.forEach((name) => vertex.progress(`naming to ${name}`, { isLast: true }));
    return new Map([
      ['containerimage.digest', id],
      ['containerimage.config.digest', id],
      ...(full.length > 0 ? [['image.name', full.join(',')] as const] : []),
    ]);
  });
}
