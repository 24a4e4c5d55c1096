import type { BuildSession } from '../../../api/types/build/session.ts';
import { parseImageConfig, type ImageConfig } from '../../../storage/image/image-config.ts';
import { choosePlatform, formatPlatform, type Platform } from '../../../storage/image/platform.ts';
import { parseManifest, type Manifest } from '../../../storage/registry/manifest.ts';
import { invalidArgument, notFound } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { RemoteLayer } from '../cache/exchange/document.ts';
import { clientSource } from '../cache/exchange/client-cache.ts';
import type { CacheLayers, CacheSource } from '../cache/exchange/ports.ts';
import { treeOf } from '../cache/records.ts';
import type { FoundLayout, ImageLayout } from '../frontend/options.ts';
import type { HeldTrees, KeptTree } from '../snapshots/held-trees.ts';

export interface LayoutLoading {
  session: BuildSession;
  caches: CacheLayers;
  held: HeldTrees;
  signal: AbortSignal;
}

/** An image of a layout, whose layers are where they are. */
export interface LayoutImage {
  config: ImageConfig;
  /** The configuration as it is written. */
  bytes: Buffer;
  layers: readonly RemoteLayer[];
  source: CacheSource;
}

/**
 * An image in an OCI layout of the client (image-spec 1.1, "OCI Image Layout Specification"): the layers that are not
 * here come, sizes and digests checked. `kept` stays for as long as the build that uses the tree. Throws as
 * `findLayout`.
 */
export async function loadLayout(
  { session, caches, held, signal }: LayoutLoading,
  layout: ImageLayout,
  platform: Platform,
): Promise<FoundLayout & { kept: KeptTree }> {
  const { config: found, layers, source } = await findLayout(session, layout, { platform, signal });
  const { os, architecture, variant, author, config, history } = found;
  using tree = treeOf(await caches.receive(layers, source, signal));
  const kept = held.keep(tree);
  return {
    kept,
    tree: layers.length === 0 ? undefined : { kind: 'held', id: kept.id },
    image: { os, architecture, variant, author, config, history },
  };
}

/**
 * What an image of a layout consists of. Throws invalid_argument, and not_found where the layout lacks something, or
 * has nothing for the platform.
 */
export async function findLayout(
  session: BuildSession,
  { store, digest }: ImageLayout,
  { platform, signal }: { platform: Platform; signal: AbortSignal },
): Promise<LayoutImage> {
  const where = `oci-layout://${store}@${digest}`;
  // It stays with its session: there is nothing to be given back.
  const source = clientSource(session.content(`oci:${store}`));
  const manifest = await findManifest(source, digest, { where, platform, signal });
  const bytes = await source.blob(manifest.config, signal);
  const config = parseImageConfig(bytes, where);
  const { diffIds } = config;
  if (diffIds.length !== manifest.layers.length) {
    throw invalidArgument(
      `${where}: ${manifest.layers.length} layers where its configuration has ${diffIds.length}`,
    );
  }
  const layers = manifest.layers.map((layer, position) => ({ ...layer, diffId: diffIds[position] ?? '' }));
  return { config, bytes, layers, source };
}

async function findManifest(
  source: CacheSource,
  digest: string,
  { where, platform, signal }: { where: string; platform: Platform; signal: AbortSignal },
): Promise<Extract<Manifest, { kind: 'image' }>> {
  for (let [depth, wanted] = [0, digest]; depth <= limits.indexNestingMax; depth += 1) {
    const bytes = await source.manifest(wanted, signal);
    const manifest = parseManifest(bytes, { where, contentType: '', expected: wanted });
    if (manifest.kind === 'image') {
      return manifest;
    }
    const best = choosePlatform(manifest.manifests, platform);
    if (best === undefined) {
      throw notFound(`${where}: no matching manifest for ${formatPlatform(platform)}`);
    }
    wanted = best.digest;
  }
  throw invalidArgument(`${where}: indexes nested deeper than ${limits.indexNestingMax}`);
}
