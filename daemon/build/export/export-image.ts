import type { BuildSession } from '../../../api/types/build/session.ts';
import { parseReference } from '../../../storage/references/reference.ts';
import { invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { registryOptions } from '../control/import-caches.ts';
import type { Vertex, Vertices } from '../control/vertices.ts';
import type { ExportedImage } from './exported-image.ts';
import type { ExportDeps } from './ports.ts';
import { pushByDigest } from './push-by-digest.ts';
import type { ImageOutput } from './read-outputs.ts';

interface ImageTo {
  session: BuildSession;
  vertices: Vertices;
  signal: AbortSignal;
}

/**
 * Makes the image in the store, with its names, and gives it to their registries where that is asked for; answers what
 * the client is told. What was made stays where a push fails.
 */
export async function exportImage(
  deps: ExportDeps,
  image: ExportedImage,
  { names, push }: ImageOutput,
  to: ImageTo,
): Promise<ReadonlyMap<string, string>> {
  const { layerIds, config } = image;
  if (push === 'digest') {
    names.forEach((name) => refuseTag(name));
  }
  return await to.vertices.run('exporting to image', async (vertex) => {
    vertex.progress('exporting layers', { isLast: true });
    const given = push === 'digest' ? [] : names;
    const { id, names: full } = await deps.layers.makeImage({ layerIds, config, names: given });
    vertex.progress(`writing image ${id}`, { isLast: true });
    full.forEach((name) => vertex.progress(`naming to ${name}`, { isLast: true }));
    const digest =
      push === 'none'
        ? undefined
        : await pushAll(deps, image, push === 'names' ? full : names, {
            ...to,
            vertex,
            push,
          });
    return new Map([
      ['containerimage.digest', digest ?? id],
      ['containerimage.config.digest', id],
      ...(names.length > 0 ? [['image.name', (push === 'digest' ? names : full).join(',')] as const] : []),
    ]);
  });
}

/** Answers the manifest's digest, which is the same everywhere. */
async function pushAll(
  { layers, caches }: ExportDeps,
  image: ExportedImage,
  names: readonly string[],
  { session, signal, vertex, push }: ImageTo & { vertex: Vertex; push: 'names' | 'digest' },
): Promise<string | undefined> {
  const options = registryOptions({ session, signal });
  let digest: string | undefined;
  for (const name of names) {
    vertex.progress('pushing layers', {});
    failpoint('build.export.push');
    digest =
      push === 'names'
        ? await layers.push(name, options)
        : await pushByDigest(caches, image, { name, diffIds: layers.diffIds(image.layerIds), options });
    vertex.progress('pushing layers', { isLast: true });
    vertex.progress(`pushing manifest for ${name}@${digest}`, { isLast: true });
  }
  return digest;
}

function refuseTag(name: string): void {
  if (parseReference(name).tag !== undefined) {
    throw invalidArgument(`can't push tagged ref ${name} by digest`);
  }
}
