import { parseReference } from '../../../storage/references/reference.ts';
import type { OciDescriptor } from '../../../storage/image-archives/oci-documents.ts';
import type { BuildSession } from '../../../api/types/build/session.ts';
import { invalidArgument, invariant } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { registryOptions } from '../control/import-caches.ts';
import { imageIdOf } from '../control/finished-config.ts';
import type { Vertex, Vertices } from '../control/vertices.ts';
import { placedAnnotations } from './annotations.ts';
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
 * the client is told. Several platforms, and one of which something is said, are a list. Annotations are kept. What was
 * made stays where a push fails.
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
    const isLinux = images.every(({ platform }) => platform.os === 'linux');
    // What the store cannot hold goes to registries alone, where it is to go to some.
    const isStored =
      output.isStored === true || (output.isStored === 'usual' && (isLinux || push === 'none'));
    if (isStored && !isLinux) {
      throw invalidArgument('operating system is not supported');
    }
    const id = imageIdOf(image.config);
    const stored = isStored ? await store(deps, images, output, vertex) : { id, names, list: undefined };
    const { list, names: full } = stored;
    const pushed =
      push === 'none'
        ? undefined
        : await pushAll(deps, images, { ...output, isStored }, { ...to, names: full, vertex });
    const called = isStored ? callByDigest(deps, output, { ...stored, pushed, vertex }) : undefined;
    const all = [...full, ...(called?.dangling ?? [])];
    const descriptor = pushed === undefined ? list : pushed.descriptor;
    return new Map([
      ['containerimage.digest', pushed?.digest ?? called?.digest ?? list?.digest ?? id],
      ...(descriptor === undefined ? [] : [descriptorFact(descriptor)]),
      ...(isOne ? [['containerimage.config.digest', id] as const] : []),
      ...(all.length > 0 ? [['image.name', all.join(',')] as const] : []),
    ]);
  });
}

/** What the store has made: the image that its names mean, or their list, and the names. */
interface Stored {
  id: string;
  /** In full; one that goes to a registry by its digest has none here, and is as it was. */
  names: readonly string[];
  list: OciDescriptor | undefined;
}

async function store(
  { layers }: ExportDeps,
  images: readonly ExportedImage[],
  { names, push, layers: { isOci }, annotations }: ImageOutput,
  vertex: Vertex,
): Promise<Stored> {
  const given = push === 'digest' ? [] : names;
  const [only] = images;
  const isAlone = !isList(images);
  if (only !== undefined && isAlone && !isOci) {
    const { layerIds, config } = only;
    const { id, names: full } = await layers.makeImage({ layerIds, config, names: given });
    vertex.progress(`writing image ${id}`, { isLast: true });
    full.forEach((name) => vertex.progress(`naming to ${name}`, { isLast: true }));
    return { id, names: push === 'digest' ? names : full, list: undefined };
  }
  const listed = images.map((image) => ({
    ...image,
    annotations: placedAnnotations(annotations, 'manifest', image.platform),
  }));
  const list = { names: given, isOci, isAlone, annotations: placedAnnotations(annotations, 'index') };
  const made = await layers.makeList(listed, list);
  images.forEach(({ config }) => vertex.progress(`writing image ${imageIdOf(config)}`, { isLast: true }));
  vertex.progress(`writing ${isAlone ? 'manifest' : 'manifest list'} ${made.descriptor.digest}`, {
    isLast: true,
  });
  made.names.forEach((name) => vertex.progress(`naming to ${name}`, { isLast: true }));
  return { id: made.imageId, names: push === 'digest' ? names : made.names, list: made.descriptor };
}

function isList(images: readonly ExportedImage[]): boolean {
  return images.some(({ isByPlatform, attestations }) => isByPlatform || attestations.length > 0);
}

/**
 * An image that was pushed is known by its digest, too, as after `docker push`; one that was not, where that is asked
 * for: by the digest of its manifest, which is told then. Undefined: it is not.
 */
function callByDigest(
  { layers }: ExportDeps,
  { isCanonical, danglingPrefix }: ImageOutput,
  { id, names, list, pushed, vertex }: Stored & { pushed: Pushed | undefined; vertex: Vertex },
): { digest: string; dangling: string[] } | undefined {
  const prefixes = danglingPrefix === '' ? [] : [danglingPrefix];
  const all = [...(isCanonical || pushed !== undefined ? names : []), ...prefixes];
  if (all.length === 0) {
    return undefined;
  }
  const digest = layers.callByDigest(id, { names: all, pushed: pushed?.digest, list: list?.digest });
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
  const isUsual = !format.isOci && !format.isForced && annotations.length === 0 && !isList(images);
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
