import { parseReference } from '../../../storage/references/reference.ts';
import type { OciDescriptor } from '../../../storage/image-archives/oci-documents.ts';
import type { BuildSession } from '../../../api/types/build/session.ts';
import { invalidArgument, invariant } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { registryOptions } from '../control/import-caches.ts';
import { imageIdOf } from '../control/finished-config.ts';
import type { Vertex, Vertices } from '../control/vertices.ts';
import { descriptorFact } from './descriptor-fact.ts';
import type { ExportedImage } from './exported-image.ts';
import type { ExportDeps } from './ports.ts';
import { putImages } from './put-images.ts';
import type { ImageOutput } from './read-outputs.ts';

interface ImageTo {
  session: BuildSession;
  vertices: Vertices;
  signal: AbortSignal;
}

/**
 * Makes the image in the store, with its names, and gives it to their registries where that is asked for; answers what
 * the client is told. Several platforms go to registries alone, and so does what is said of an image. What was made
 * stays where a push fails.
 */
export async function exportImage(
  deps: ExportDeps,
  images: readonly ExportedImage[],
  output: ImageOutput,
  to: ImageTo,
): Promise<ReadonlyMap<string, string>> {
  const { names, push } = output;
  if (push === 'digest') {
    names.forEach((name) => refuseTag(name));
  }
  return await to.vertices.run('exporting to image', async (vertex) => {
    vertex.progress('exporting layers', { isLast: true });
    const [image] = images;
    invariant(image !== undefined, 'a result without an image');
    const isOne = images.length === 1;
    const isStored = output.isStored === true || (output.isStored === 'usual' && isOne);
    if (isStored && image.platform.os !== 'linux') {
      throw invalidArgument('operating system is not supported');
    }
    const id = imageIdOf(image.config);
    const full = isStored ? await store(deps, image, output, vertex) : names;
    const pushed =
      push === 'none'
        ? undefined
        : await pushAll(deps, images, { ...output, isStored }, { ...to, names: full, vertex });
    const called = isStored ? callByDigest(deps, output, { id, names: full, pushed, vertex }) : undefined;
    const all = [...full, ...(called?.dangling ?? [])];
    return new Map([
      ['containerimage.digest', pushed?.digest ?? called?.digest ?? id],
      ...(pushed?.descriptor === undefined ? [] : [descriptorFact(pushed.descriptor)]),
      ...(isOne ? [['containerimage.config.digest', id] as const] : []),
      ...(all.length > 0 ? [['image.name', all.join(',')] as const] : []),
    ]);
  });
}

/** Answers the names in full; one that goes to a registry by its digest has none here. */
async function store(
  { layers }: ExportDeps,
  { layerIds, config }: ExportedImage,
  { names, push }: ImageOutput,
  vertex: Vertex,
): Promise<readonly string[]> {
  const given = push === 'digest' ? [] : names;
  const { id, names: full } = await layers.makeImage({ layerIds, config, names: given });
  vertex.progress(`writing image ${id}`, { isLast: true });
  full.forEach((name) => vertex.progress(`naming to ${name}`, { isLast: true }));
  return push === 'digest' ? names : full;
}

/**
 * An image that was pushed is known by its digest, too, as after `docker push`; one that was not, where that is asked
 * for: by the digest of its manifest, which is told then. Undefined: it is not.
 */
function callByDigest(
  { layers }: ExportDeps,
  { isCanonical, danglingPrefix }: ImageOutput,
  {
    id,
    names,
    pushed,
    vertex,
  }: { id: string; names: readonly string[]; pushed: Pushed | undefined; vertex: Vertex },
): { digest: string; dangling: string[] } | undefined {
  const prefixes = danglingPrefix === '' ? [] : [danglingPrefix];
  const all = [...(isCanonical || pushed !== undefined ? names : []), ...prefixes];
  if (all.length === 0) {
    return undefined;
  }
  const digest = layers.callByDigest(id, { names: all, pushed: pushed?.digest });
  const told = [...(isCanonical ? names : []), ...prefixes].map((name) => `${name}@${digest}`);
  told.forEach((name) => vertex.progress(`naming to ${name}`, { isLast: true }));
  return { digest, dangling: prefixes.map((prefix) => `${prefix}@${digest}`) };
}

interface Pushed {
  digest: string;
  descriptor: OciDescriptor | undefined;
}

/** Answers what the names mean now, which is the same everywhere. */
async function pushAll(
  deps: ExportDeps,
  images: readonly ExportedImage[],
  output: ImageOutput & { isStored: boolean },
  { names, vertex, ...to }: ImageTo & { names: readonly string[]; vertex: Vertex },
): Promise<Pushed | undefined> {
  let pushed: Pushed | undefined;
  for (const name of names) {
    vertex.progress('pushing layers', {});
    failpoint('build.export.push');
    pushed = await pushOne(deps, images, output, { ...to, name, vertex });
    vertex.progress('pushing layers', { isLast: true });
    vertex.progress(`pushing manifest for ${name}@${pushed.digest}`, { isLast: true });
  }
  return pushed;
}

async function pushOne(
  deps: ExportDeps,
  images: readonly ExportedImage[],
  { push, names, layers: format, annotations, isStored }: ImageOutput & { isStored: boolean },
  { session, signal, name, vertex }: ImageTo & { name: string; vertex: Vertex },
): Promise<Pushed> {
  const options = registryOptions({ session, signal });
  const isUsual =
    !format.isOci &&
    !format.isForced &&
    annotations.length === 0 &&
    images.every(({ isByPlatform }) => !isByPlatform) &&
    images.every(({ attestations }) => attestations.length === 0);
  if (push === 'names' && isStored && isUsual) {
    // As `docker push` does it: what is there is known to be, and the image has the digest.
    return { digest: await deps.layers.push(name, options), descriptor: undefined };
  }
  using target = await deps.caches.registryTarget(name, options);
  const descriptor = await putImages(deps, target, images, {
    format,
    annotations,
    names,
    isByDigest: push === 'digest',
    told: (kind, digest) => vertex.progress(`exporting ${kind} ${digest}`, { isLast: true }),
    signal,
  });
  return { digest: descriptor.digest, descriptor };
}

function refuseTag(name: string): void {
  if (parseReference(name).tag !== undefined) {
    throw invalidArgument(`can't push tagged ref ${name} by digest`);
  }
}
