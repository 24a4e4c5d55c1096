import { createHash } from 'node:crypto';
import { notFound } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { tryParseReference, withDefaultTag, type Reference } from '../references/reference.ts';
import type { Archive } from './archive.ts';
import {
  INDEX_TYPES,
  MANIFEST_TYPES,
  readIndex,
  readManifest,
  refuseTwoKinds,
  type Descriptor,
} from '../image/descriptor.ts';
import { parseImageConfig } from '../image/image-config.ts';
import { asObject, asString, optional, parseJson, wrong, type JsonObject } from '../image/json.ts';
import type { ImagePlan } from './image-plan.ts';
import { choosePlatform, formatPlatform, type Platform } from '../image/platform.ts';

const INDEX = 'index.json';

/**
 * An OCI image layout: `index.json` points to manifests, or to indexes with one manifest per platform; every blob is
 * checked against its digest and size before it is read.
 */
export async function planOciLayout(archive: Archive, host: Platform): Promise<ImagePlan[]> {
  const bytes = await archive.read(INDEX, limits.manifestBytesMax, 'the tarball');
  const roots = readIndex(asObject(parseJson(bytes, INDEX), INDEX), INDEX);
  const named: { name: string; manifest: Descriptor }[] = [];
  for (const root of roots) {
    const manifest = await toManifest(archive, root, host, 0);
    named.push({ name: nameOf(root.annotations), manifest });
  }
  const plans: ImagePlan[] = [];
  for (const { manifest, names } of pickOnePerName(named, host)) {
    plans.push(await planManifest(archive, manifest, names));
  }
  if (plans.length === 0) {
    throw wrong(INDEX, 'names no image');
  }
  return plans;
}

/** One manifest for each name (several platforms may share one), and all names of one manifest together. */
function pickOnePerName(
  named: readonly { name: string; manifest: Descriptor }[],
  host: Platform,
): { manifest: Descriptor; names: string[] }[] {
  const chosen = new Map<string, { manifest: Descriptor; names: string[] }>();
  for (const name of new Set(named.map((item) => item.name))) {
    const candidates = named.filter((item) => item.name === name).map((item) => item.manifest);
    const best = choosePlatform(candidates, host);
    // Unnamed images without a platform are as many images; a platform tells which one of them is meant.
    for (const manifest of best === undefined ? candidates : [best]) {
      const item = chosen.get(manifest.digest) ?? { manifest, names: [] };
      item.names.push(...(name === '' ? [] : [name]));
      chosen.set(manifest.digest, item);
    }
  }
  return [...chosen.values()];
}

async function toManifest(
  archive: Archive,
  descriptor: Descriptor,
  host: Platform,
  depth: number,
): Promise<Descriptor> {
  if (MANIFEST_TYPES.has(descriptor.mediaType)) {
    return descriptor;
  }
  if (!INDEX_TYPES.has(descriptor.mediaType)) {
    throw wrong(descriptor.digest, `media type ${JSON.stringify(descriptor.mediaType)} is no image`);
  }
  if (depth >= limits.indexNestingMax) {
    throw wrong(descriptor.digest, `indexes nested deeper than ${limits.indexNestingMax}`);
  }
  const index = readIndex(await readDocument(archive, descriptor), descriptor.digest);
  const best = choosePlatform(index, host) ?? (index.length === 1 ? index[0] : undefined);
  if (best === undefined) {
    throw notFound(`no matching manifest for ${formatPlatform(host)} in the manifest list entries`);
  }
  return await toManifest(archive, best, host, depth + 1);
}

async function planManifest(
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
function nameOf(annotations: Readonly<Record<string, string>>): string {
  const full = annotations['io.containerd.image.name'];
  const short = annotations['org.opencontainers.image.ref.name'] ?? '';
  return full ?? (/[/:]/.test(short) ? short : '');
}

function toReference(name: string): Reference | undefined {
  const reference = tryParseReference(name);
  return reference === undefined || reference.digest !== undefined ? undefined : withDefaultTag(reference);
}

/** A JSON blob that says itself what its descriptor says. */
async function readDocument(archive: Archive, descriptor: Descriptor): Promise<JsonObject> {
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

async function readBlob(archive: Archive, descriptor: Descriptor, bytesMax: number): Promise<Buffer> {
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

function blobName(descriptor: Descriptor): string {
  return `blobs/sha256/${descriptor.digest.slice('sha256:'.length)}`;
}
