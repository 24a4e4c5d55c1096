import { parseImageConfig } from '../../../../storage/image/image-config.ts';
import { asString, optional, asObject, parseJson } from '../../../../storage/image/json.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import {
  INLINE_CACHE,
  readCacheDocument,
  readInlineCache,
  type CacheDocument,
  type RemoteLayer,
} from './document.ts';
import { readCacheManifest, type Blob, type CacheManifest } from './manifest.ts';
import type { CacheSource } from './ports.ts';

const NOTHING: CacheDocument<RemoteLayer> = { results: [], contentKeys: new Map() };

/**
 * What a cache says of itself: its manifest and document, or an image's manifest and configuration. No layer is
 * fetched. An image without a cache is an empty one. Throws invalid_argument, and what the source throws.
 */
export async function readCache(
  source: CacheSource,
  name: string,
  { where, signal }: { where: string; signal: AbortSignal },
): Promise<CacheDocument<RemoteLayer>> {
  let manifest: CacheManifest = readCacheManifest(await source.manifest(name, signal), where);
  for (let depth = 0; manifest.kind === 'index'; depth += 1) {
    if (depth >= limits.indexNestingMax) {
      throw invalidArgument(`${where}: indexes nested deeper than ${limits.indexNestingMax}`);
    }
    manifest = readCacheManifest(await source.manifest(manifest.manifest.digest, signal), where);
  }
  if (manifest.kind === 'cache') {
    const { document } = manifest;
    refuseLarge(document, where, limits.cacheDocumentBytesMax);
    return readCacheDocument(await source.blob(document, signal), where);
  }
  refuseLarge(manifest.config, where, limits.imageConfigBytesMax);
  return readImageCache(await source.blob(manifest.config, signal), manifest.layers, where);
}

/** The cache that an image's configuration brings along. `blobs`: of its layers. Throws invalid_argument. Pure. */
export function readImageCache(
  config: Buffer,
  blobs: readonly Blob[] | undefined,
  where: string,
): CacheDocument<RemoteLayer> {
  const inline = optional(
    asObject(parseJson(config, where), where)[INLINE_CACHE],
    `${where}.${INLINE_CACHE}`,
    asString,
  );
  if (inline === undefined) {
    return NOTHING;
  }
  const { diffIds } = parseImageConfig(config, where);
  if (blobs !== undefined && blobs.length !== diffIds.length) {
    throw invalidArgument(`${where}: ${blobs.length} layers where its configuration has ${diffIds.length}`);
  }
  const layers = diffIds.map((diffId, position): RemoteLayer => {
    // Without blobs the layers are here.
    const { digest, size, mediaType } = blobs?.[position] ?? { digest: diffId, size: 0, mediaType: '' };
    return { digest, size, mediaType, diffId };
  });
  return readInlineCache(Buffer.from(inline, 'base64'), layers, where);
}

function refuseLarge({ size }: Blob, where: string, bytesMax: number): void {
  if (size > bytesMax) {
    throw invalidArgument(`${where}: its document has ${size} bytes, more than ${bytesMax}`);
  }
}
