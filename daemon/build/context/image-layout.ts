import type { BuildSession } from '../../../api/types/build/session.ts';
import { parseImageConfig } from '../../../storage/image/image-config.ts';
import { choosePlatform, formatPlatform, type Platform } from '../../../storage/image/platform.ts';
import { parseManifest, type Manifest } from '../../../storage/registry/manifest.ts';
import { invalidArgument, notFound } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
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

/**
 * An image in an OCI layout of the client (image-spec 1.1, "OCI Image Layout Specification"): the layers that are not
 * here come, sizes and digests checked. `kept` stays for as long as the build that uses the tree. Throws
 * invalid_argument, and not_found where the layout lacks something, or has nothing for the platform.
 */
export async function loadLayout(
  { session, caches, held, signal }: LayoutLoading,
  { store, digest }: ImageLayout,
  platform: Platform,
): Promise<FoundLayout & { kept: KeptTree }> {
  const where = `oci-layout://${store}@${digest}`;
  using source = clientSource(session.content(`oci:${store}`));
  const manifest = await findManifest(source, digest, { where, platform, signal });
  const config = parseImageConfig(await source.blob(manifest.config, signal), where);
  const { diffIds, os, architecture, variant, author, history } = config;
  if (diffIds.length !== manifest.layers.length) {
    throw invalidArgument(
      `${where}: ${manifest.layers.length} layers where its configuration has ${diffIds.length}`,
    );
  }
  const layers = manifest.layers.map((layer, position) => ({ ...layer, diffId: diffIds[position] ?? '' }));
  using tree = treeOf(await caches.receive(layers, source, signal));
  const kept = held.keep(tree);
  return {
    kept,
    tree: layers.length === 0 ? undefined : { kind: 'held', id: kept.id },
    image: { os, architecture, variant, author, config: config.config, history },
  };
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
