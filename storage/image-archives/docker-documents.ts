import { blobName } from './oci-blobs.ts';
import type { OciDescriptor } from './oci-documents.ts';

/** An image as `docker load` finds it in a layout. */
export interface DockerItem {
  config: OciDescriptor;
  /** Bottom first. */
  layers: readonly OciDescriptor[];
  /** In full: `docker.io/library/app:latest`. */
  names: readonly string[];
  /** Id of the image that it was made from, which is in the archive too. */
  parentId: string | undefined;
}

/**
 * `manifest.json`, which docker reads since 1.10. `hasSources`: with what each layer is in the layout, as `docker save`
 * tells since 25. Pure.
 */
export function dockerManifest(
  items: readonly DockerItem[],
  { hasSources }: { hasSources: boolean },
): Buffer {
  return document(
    items.map(({ config, layers, names, parentId }) => ({
      Config: blobName(config),
      RepoTags: names.length === 0 ? null : names.map((name) => familiarName(name)),
      Layers: layers.map((layer) => blobName(layer)),
      ...(parentId !== undefined && { Parent: parentId }),
      ...(hasSources && layers.length > 0 && { LayerSources: sourcesOf(layers) }),
    })),
  );
}

/** `repositories`: the top layer of each tag, for docker before 1.10; undefined = there are no tags. Pure. */
export function repositoriesOf(items: readonly DockerItem[]): Buffer | undefined {
  // By names that users give: `constructor` and `__proto__` are such.
  const repositories = new Map<string, Map<string, string>>();
  for (const { layers, names } of items) {
    const top = layers.at(-1);
    for (const name of top === undefined ? [] : names.map((full) => familiarName(full))) {
      const colon = name.lastIndexOf(':');
      const tops = repositories.get(name.slice(0, colon)) ?? new Map<string, string>();
      repositories.set(name.slice(0, colon), tops.set(name.slice(colon + 1), hexOf(top?.digest ?? '')));
    }
  }
  if (repositories.size === 0) {
    return undefined;
  }
  return document(
    Object.fromEntries([...repositories].toSorted(byName).map(([name, tops]) => [name, sorted(tops)])),
  );
}

/** Each layer once, by its digest. */
function sourcesOf(layers: readonly OciDescriptor[]): Record<string, object> {
  return sorted(new Map(layers.map(({ mediaType, digest, size }) => [digest, { mediaType, size, digest }])));
}

function familiarName(name: string): string {
  return name.replace(/^docker\.io\/(?:library\/)?/, '');
}

function sorted<Value>(items: ReadonlyMap<string, Value>): Record<string, Value> {
  return Object.fromEntries([...items].toSorted(byName));
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

function hexOf(digest: string): string {
  return digest.slice('sha256:'.length);
}

/** With the end of a line that Go's encoder writes. */
function document(content: object): Buffer {
  return Buffer.from(`${JSON.stringify(content)}\n`);
}
