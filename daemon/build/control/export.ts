import type { SolveRequest } from '../../../api/types/build/ports.ts';
import { notImplemented } from '../../base/errors.ts';
import type { BuiltImage } from '../ports.ts';
import type { Vertices } from './vertices.ts';

/** Where the result goes. Undefined = it stays in the cache. */
export interface Export {
  names: readonly string[];
}

/** Reads what a client wants of the result. Throws not_implemented by name. Pure. */
export function readExport({ exporters, entitlements }: SolveRequest): Export | undefined {
  const entitlement = entitlements.find((name) => name !== 'network.host');
  if (entitlement !== undefined) {
    throw notImplemented(`entitlement ${entitlement} is not supported`);
  }
  const other = exporters.find(({ type }) => type !== 'moby');
  if (other !== undefined) {
    throw notImplemented(`exporter ${other.type} is not supported yet`);
  }
  const [moby] = exporters;
  return moby && { names: (moby.attributes.get('name') ?? '').split(',').filter((name) => name !== '') };
}

/** Makes the image, with its names; answers what the client is told. */
export async function exportImage(
  vertices: Vertices,
  { image, names }: { image: BuiltImage; names: readonly string[] },
): Promise<ReadonlyMap<string, string>> {
  return await vertices.run('exporting to image', async (vertex) => {
    vertex.progress('exporting layers', { isLast: true });
    const full = await image.export(names);
    vertex.progress(`writing image ${image.id}`, { isLast: true });
    full.forEach((name) => vertex.progress(`naming to ${name}`, { isLast: true }));
    return new Map([
      ['containerimage.digest', image.id],
      ['containerimage.config.digest', image.id],
      ...(full.length > 0 ? [['image.name', full.join(',')] as const] : []),
    ]);
  });
}
