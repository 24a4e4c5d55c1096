import { createHash } from 'node:crypto';
import { limits } from '../../daemon/base/limits.ts';
import { readIndex, readManifest, refuseTwoKinds, type Descriptor } from '../image/descriptor.ts';
import { parseImageConfig } from '../image/image-config.ts';
import { asObject, asString, optional, parseJson, wrong, type JsonObject } from '../image/json.ts';
import { tryParseReference, withDefaultTag, type Reference } from '../references/reference.ts';
import type { Archive } from './archive.ts';
import type { ImagePlan } from './image-plan.ts';

const INDEX = 'index.json';

/** What the `index.json` of a layout points to. */
export async function readRoots(archive: Archive): Promise<Descriptor[]> {
  const bytes = await archive.read(INDEX, limits.manifestBytesMax, 'the tarball');
  return readIndex(asObject(parseJson(bytes, INDEX), INDEX), INDEX);
}

/** All that loading the image of a manifest needs. Throws invalid_argument for what contradicts itself. */
export async function planManifest(
  archive: Archive,
  descriptor: Descriptor,
  names: readonly string[],
): Promise<ImagePlan> {
  const where = descriptor.digest;
  const manifest = await readDocument(archive, descriptor);
  const { config, layers } = readManifest(manifest, where);
  const bytes = await readBlob(archive, config, limits.imageConfigBytesMax);
  const parsed = parseImageConfig(bytes, config.digest);
  if (layers.length !== parsed.diffIds.length) {
    const expected = parsed.diffIds.length;
    throw wrong(where, `layers length mismatch: expected ${expected}, got ${layers.length}`);
  }
  return {
    names: names.map((name) => toReference(name)).filter((name) => name !== undefined),
    layers: layers.map((layer, index) => ({
      blob: blobRange(archive, layer),
      digest: layer.digest,
      ...(parsed.diffIds[index] === undefined ? {} : { diffId: parsed.diffIds[index] }),
    })),
    config: { kind: 'given', bytes, parsed },
  };
}

/** containerd writes the whole name, others at most what the specification asks: a tag, which alone names nothing. */
export function nameOf(annotations: Readonly<Record<string, string>>): string {
  const full = annotations['io.containerd.image.name'];
  const short = annotations['org.opencontainers.image.ref.name'] ?? '';
  return full ?? (/[/:]/.test(short) ? short : '');
}

/** Undefined: it names nothing that can be given to an image. */
export function toReference(name: string): Reference | undefined {
  const reference = tryParseReference(name);
  return reference === undefined || reference.digest !== undefined ? undefined : withDefaultTag(reference);
}

/** A JSON blob that says itself what its descriptor says. */
export async function readDocument(archive: Archive, descriptor: Descriptor): Promise<JsonObject> {
  const where = descriptor.digest;
  const bytes = await readBlob(archive, descriptor, limits.manifestBytesMax);
  const document = asObject(parseJson(bytes, where), where);
  const own = optional(document['mediaType'], `${where}.mediaType`, asString);
  if (own !== undefined && own !== descriptor.mediaType) {
    throw wrong(where, `its media type ${JSON.stringify(own)} is not that of its descriptor`);
  }
  refuseTwoKinds(document, where);
  return document;
}

/** A small blob, checked against its descriptor. */
export async function readBlob(archive: Archive, descriptor: Descriptor, bytesMax: number): Promise<Buffer> {
  blobRange(archive, descriptor);
  const bytes = await archive.read(blobName(descriptor), bytesMax, descriptor.digest);
  const found = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  if (found !== descriptor.digest) {
    throw wrong(descriptor.digest, `digest mismatch: its bytes have ${found}`);
  }
  return bytes;
}

function blobRange(archive: Archive, descriptor: Descriptor): ReturnType<Archive['range']> {
  const range = archive.range(blobName(descriptor), descriptor.digest);
  if (range.size !== descriptor.size) {
    throw wrong(descriptor.digest, `has ${range.size} bytes where ${descriptor.size} are announced`);
  }
  return range;
}

/** The member that a layout keeps it as. */
export function blobName({ digest }: { digest: string }): string {
  return `blobs/sha256/${digest.slice('sha256:'.length)}`;
}
