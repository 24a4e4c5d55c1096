import { INDEX_TYPES, MANIFEST_TYPES } from '../../../../storage/image/descriptor.ts';
import {
  asArray,
  asCount,
  asDigest,
  asObject,
  asString,
  optional,
  parseJson,
  wrong,
  type JsonObject,
} from '../../../../storage/image/json.ts';
import { choosePlatform, hostPlatform, type Platform } from '../../../../storage/image/platform.ts';
import { limits } from '../../../base/limits.ts';
import { CACHE_CONFIG_TYPE } from './document.ts';

/** A blob of a cache. */
export interface Blob {
  digest: string;
  size: number;
  mediaType: string;
}

/** What stands under a cache's name. */
export type CacheManifest =
  | { kind: 'cache'; document: Blob }
  /** An image, which may bring its cache along. */
  | { kind: 'image'; config: Blob; layers: Blob[] }
  /** Of several platforms: this is the host's. */
  | { kind: 'index'; manifest: Blob };

const INDEX = 'application/vnd.oci.image.index.v1+json';
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

/**
 * The manifest of a cache: an index of blobs as BuildKit wrote it at first, or an image's (`image-manifest=true`),
 * which more registries take. Pure.
 */
export function writeCacheManifest(
  document: Blob,
  layers: readonly Blob[],
  isImage: boolean,
): { bytes: Buffer; mediaType: string } {
  const unique = [...new Map(layers.map((layer) => [layer.digest, layer])).values()];
  // The same layers are the same manifest.
  const sorted = unique.toSorted((a, b) => (a.digest < b.digest ? -1 : 1));
  const all = sorted.map((layer) => descriptor(layer));
  const mediaType = isImage ? MANIFEST : INDEX;
  const manifest = isImage
    ? { schemaVersion: 2, mediaType, config: descriptor(document), layers: all }
    : { schemaVersion: 2, mediaType, manifests: [...all, descriptor(document)] };
  return { bytes: Buffer.from(JSON.stringify(manifest)), mediaType };
}

function descriptor({ mediaType, digest, size }: Blob): object {
  return { mediaType, digest, size };
}

/** Throws invalid_argument that names the field, and for what is neither a cache nor an image of this host. Pure. */
export function readCacheManifest(bytes: Buffer, where: string): CacheManifest {
  if (bytes.length > limits.manifestBytesMax) {
    throw wrong(where, `larger than ${limits.manifestBytesMax} bytes`);
  }
  const root = asObject(parseJson(bytes, where), where);
  const manifests = optional(root['manifests'], `${where}.manifests`, asArray);
  if (manifests !== undefined) {
    return indexOf(manifests, where);
  }
  const config = blobOf(root['config'], `${where}.config`);
  if (config.mediaType === CACHE_CONFIG_TYPE) {
    return { kind: 'cache', document: config };
  }
  const mediaType = optional(root['mediaType'], `${where}.mediaType`, asString) ?? MANIFEST;
  if (!MANIFEST_TYPES.has(mediaType)) {
    throw wrong(
      where,
      `media type ${JSON.stringify(mediaType.slice(0, 100))} is neither an image nor a cache`,
    );
  }
  const layers = asArray(root['layers'], `${where}.layers`);
  if (layers.length > limits.imageLayersMax) {
    throw wrong(`${where}.layers`, `more than ${limits.imageLayersMax} layers`);
  }
  return {
    kind: 'image',
    config,
    layers: layers.map((layer, index) => blobOf(layer, `${where}.layers[${index}]`)),
  };
}

function indexOf(items: readonly unknown[], where: string): CacheManifest {
  if (items.length > limits.cacheRecordsMax) {
    throw wrong(`${where}.manifests`, `more than ${limits.cacheRecordsMax}`);
  }
  const blobs = items.map((item, index) => {
    const at = `${where}.manifests[${index}]`;
    return { blob: blobOf(item, at), platform: platformOf(asObject(item, at), at) };
  });
  const document = blobs.find(({ blob }) => blob.mediaType === CACHE_CONFIG_TYPE)?.blob;
  if (document !== undefined) {
    return { kind: 'cache', document };
  }
  const images = blobs
    .filter(({ blob }) => MANIFEST_TYPES.has(blob.mediaType) || INDEX_TYPES.has(blob.mediaType))
    .map(({ blob, platform }) => ({ ...blob, platform, annotations: {} }));
  const manifest = choosePlatform(images, hostPlatform());
  if (manifest === undefined) {
    throw wrong(where, 'neither a cache nor an image of this host');
  }
  return { kind: 'index', manifest };
}

function blobOf(value: unknown, where: string): Blob {
  const item = asObject(value, where);
  return {
    mediaType: asString(item['mediaType'], `${where}.mediaType`),
    digest: asDigest(item['digest'], `${where}.digest`),
    size: asCount(item['size'], `${where}.size`),
  };
}

function platformOf(item: JsonObject, where: string): Platform | undefined {
  const platform = optional(item['platform'], `${where}.platform`, asObject);
  if (platform === undefined) {
    return undefined;
  }
  const variant = optional(platform['variant'], `${where}.platform.variant`, asString);
  return {
    os: asString(platform['os'], `${where}.platform.os`),
    architecture: asString(platform['architecture'], `${where}.platform.architecture`),
    ...(variant !== undefined && { variant }),
  };
}
