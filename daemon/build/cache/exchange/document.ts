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
import { limits } from '../../../base/limits.ts';

/** A layer as a cache elsewhere has it. */
export interface RemoteLayer {
  digest: string;
  size: number;
  mediaType: string;
  diffId: string;
}

/** The result of an operation: its layers, bottom first. */
export interface CachedResult<Layer> {
  /** `sha256:` and 64 digits: of the operation and all it stands on. */
  key: string;
  layers: readonly Layer[];
  createdMs: number;
}

/** What builds may take instead of doing it. */
export interface CacheDocument<Layer> {
  results: readonly CachedResult<Layer>[];
  /** Keys of operations by their definitions, and by what they read: so nothing of it need be here to find them. */
  contentKeys: ReadonlyMap<string, string>;
}

/** Of a cache's own document, among the blobs of its manifest. */
export const CACHE_CONFIG_TYPE = 'application/vnd.buildkit.cacheconfig.v0';
/** In the configuration of an image that brings its cache along. */
export const INLINE_CACHE = 'moby.buildkit.cache.v0';

/**
 * As BuildKit has it (cache/remotecache/v1/spec.go): layers that stand on each other, and records that name them. What
 * its records say by digests of operations and their inputs, ours say by one key. Pure.
 */
export function writeCacheDocument({ results, contentKeys }: CacheDocument<RemoteLayer>): Buffer {
  const layers: object[] = [];
  const known = new Map<string, number>();
  const indexOf = (chain: readonly RemoteLayer[]): number => {
    let parent = -1;
    let path = '';
    for (const { digest, size, mediaType, diffId } of chain) {
      path = `${path} ${diffId}`;
      const before = known.get(path);
      if (before === undefined) {
        known.set(path, layers.length);
        layers.push({ blob: digest, parent, annotations: { mediaType, diffID: diffId, size } });
      }
      parent = before ?? layers.length - 1;
    }
    return parent;
  };
  const records = recordsOf({ results, contentKeys }, ({ layers: chain, createdMs }) => {
    const createdAt = new Date(createdMs).toISOString();
    return chain.length === 0
      ? { chains: [{ layers: [], createdAt }] }
      : { results: [{ layer: indexOf(chain), createdAt }] };
  });
  return Buffer.from(JSON.stringify({ layers, records }));
}

/**
 * The part of a cache that the layers of an image hold, for its configuration. Empty where that is none. `diffIds`: of
 * the image. Pure.
 */
export function writeInlineCache(
  { results, contentKeys }: CacheDocument<string>,
  diffIds: readonly string[],
): Buffer {
  const held = results.filter(({ layers }) => layers.every((diffId) => diffIds.includes(diffId)));
  const records = recordsOf({ results: held, contentKeys }, ({ layers, createdMs }) => ({
    chains: [
      {
        layers: layers.map((diffId) => diffIds.indexOf(diffId)),
        createdAt: new Date(createdMs).toISOString(),
      },
    ],
  }));
  return records.length === 0 ? Buffer.alloc(0) : Buffer.from(JSON.stringify(records));
}

/** Records of results, then those that lead to them. */
function recordsOf<Layer>(
  { results, contentKeys }: CacheDocument<Layer>,
  placeOf: (result: CachedResult<Layer>) => object,
): object[] {
  const sorted = results.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const positions = new Map(sorted.map(({ key }, position) => [key, position]));
  const links = [...contentKeys].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [
    ...sorted.map((result) => ({ ...placeOf(result), digest: result.key })),
    ...links.flatMap(([definitionKey, key]) => {
      const link = positions.get(key);
      return link === undefined ? [] : [{ digest: definitionKey, inputs: [[{ link }]] }];
    }),
  ];
}

/** Reads what another engine has written. Throws invalid_argument that names the field. Pure. */
export function readCacheDocument(bytes: Buffer, where: string): CacheDocument<RemoteLayer> {
  const document = asObject(parseJson(bounded(bytes, where), where), where);
  const layers = bound(optional(document['layers'], `${where}.layers`, asArray) ?? [], `${where}.layers`);
  const read: { layer: RemoteLayer; parent: number }[] = [];
  for (const [position, item] of layers.entries()) {
    read.push(layerOf(item, { position, where: `${where}.layers[${position}]` }));
  }
  const chains = new Map<number, RemoteLayer[]>();
  const chainOf = (index: number): RemoteLayer[] => {
    const chain: RemoteLayer[] = [];
    for (let next = index; next >= 0;) {
      const found = read[next];
      if (found === undefined || chain.length >= limits.imageLayersMax) {
        throw wrong(`${where}.layers[${index}]`, 'stands on too many layers, or on none that is there');
      }
      chain.unshift(found.layer);
      next = found.parent;
    }
    chains.set(index, chain);
    return chain;
  };
  const records = optional(document['records'], `${where}.records`, asArray) ?? [];
  return readRecords(records, {
    where: `${where}.records`,
    layers: read.map(({ layer }) => layer),
    chainOf: (index) => chains.get(index) ?? chainOf(index),
  });
}

/** As `readCacheDocument`, of an image with these layers. */
export function readInlineCache(
  bytes: Buffer,
  layers: readonly RemoteLayer[],
  where: string,
): CacheDocument<RemoteLayer> {
  const records = asArray(parseJson(bounded(bytes, where), where), where);
  return readRecords(records, { where, layers, chainOf: (index) => layers.slice(0, index + 1) });
}

interface Layers {
  where: string;
  layers: readonly RemoteLayer[];
  chainOf: (index: number) => readonly RemoteLayer[];
}

function readRecords(items: readonly unknown[], layers: Layers): CacheDocument<RemoteLayer> {
  const { where } = layers;
  const records = bound(items, where).map((item, position) => {
    const at = `${where}[${position}]`;
    const record = asObject(item, at);
    return { record, at, key: asDigest(record['digest'], `${at}.digest`) };
  });
  const results = records.flatMap(({ record, at, key }): CachedResult<RemoteLayer>[] => {
    const found = resultOf(record, at, layers);
    return found === undefined ? [] : [{ key, ...found }];
  });
  const keys = new Set(results.map(({ key }) => key));
  const contentKeys = new Map<string, string>();
  for (const { record, at, key } of records) {
    const link = linkOf(record, at);
    const target = link === undefined ? undefined : records[link]?.key;
    if (link !== undefined && target === undefined) {
      throw wrong(`${at}.inputs`, `there is no record ${link}`);
    }
    if (target !== undefined && !keys.has(key) && keys.has(target)) {
      contentKeys.set(key, target);
    }
  }
  return { results, contentKeys };
}

function resultOf(
  record: JsonObject,
  at: string,
  { layers, chainOf }: Layers,
): { layers: readonly RemoteLayer[]; createdMs: number } | undefined {
  const index = (value: unknown, where: string): number => {
    const number = asCount(value, where);
    if (number >= layers.length) {
      throw wrong(where, `there is no layer ${number}`);
    }
    return number;
  };
  const [result] = optional(record['results'], `${at}.results`, asArray) ?? [];
  if (result !== undefined) {
    const facts = asObject(result, `${at}.results[0]`);
    const chain = chainOf(index(facts['layer'], `${at}.results[0].layer`));
    return { layers: chain, createdMs: momentOf(facts['createdAt'], `${at}.results[0].createdAt`) };
  }
  const [chain] = optional(record['chains'], `${at}.chains`, asArray) ?? [];
  if (chain === undefined) {
    return undefined;
  }
  const facts = asObject(chain, `${at}.chains[0]`);
  const indices = optional(facts['layers'], `${at}.chains[0].layers`, asArray) ?? [];
  if (indices.length > limits.imageLayersMax) {
    throw wrong(`${at}.chains[0].layers`, `more than ${limits.imageLayersMax} layers`);
  }
  const found = indices.flatMap((item) => layers[index(item, `${at}.chains[0].layers`)] ?? []);
  return { layers: found, createdMs: momentOf(facts['createdAt'], `${at}.chains[0].createdAt`) };
}

/** Of a record that only leads to another. */
function linkOf(record: JsonObject, at: string): number | undefined {
  const [first] = optional(record['inputs'], `${at}.inputs`, asArray) ?? [];
  const [input] = first === undefined ? [] : asArray(first, `${at}.inputs[0]`);
  return input === undefined
    ? undefined
    : asCount(asObject(input, `${at}.inputs[0][0]`)['link'] ?? 0, `${at}.inputs[0][0].link`);
}

function layerOf(
  item: unknown,
  { position, where }: { position: number; where: string },
): { layer: RemoteLayer; parent: number } {
  const facts = asObject(item, where);
  // Go leaves a zero out.
  const parent = facts['parent'] ?? 0;
  if (typeof parent !== 'number' || !Number.isInteger(parent) || parent < -1 || parent >= position) {
    // Also: no circle is possible.
    throw wrong(`${where}.parent`, 'stands on no layer before it');
  }
  const annotations = asObject(facts['annotations'], `${where}.annotations`);
  const layer = {
    digest: asDigest(facts['blob'], `${where}.blob`),
    size: asCount(annotations['size'], `${where}.annotations.size`),
    mediaType: asString(annotations['mediaType'], `${where}.annotations.mediaType`),
    diffId: asDigest(annotations['diffID'], `${where}.annotations.diffID`),
  };
  return { layer, parent };
}

function momentOf(value: unknown, where: string): number {
  const ms = Date.parse(optional(value, where, asString) ?? '1970-01-01T00:00:00Z');
  if (Number.isNaN(ms)) {
    throw wrong(where, 'not a time');
  }
  return Math.max(0, ms);
}

function bounded(bytes: Buffer, where: string): Buffer {
  if (bytes.length > limits.cacheDocumentBytesMax) {
    throw wrong(where, `larger than ${limits.cacheDocumentBytesMax} bytes`);
  }
  return bytes;
}

function bound(items: readonly unknown[], where: string): readonly unknown[] {
  if (items.length > limits.cacheRecordsMax) {
    throw wrong(where, `more than ${limits.cacheRecordsMax}`);
  }
  return items;
}
