import { expect, test } from 'vitest';
import {
  readCacheDocument,
  readInlineCache,
  writeCacheDocument,
  writeInlineCache,
  type CacheDocument,
  type RemoteLayer,
} from '../../../../daemon/build/cache/exchange/document.ts';
import { readCacheManifest, writeCacheManifest } from '../../../../daemon/build/cache/exchange/manifest.ts';
import { readImageCache } from '../../../../daemon/build/cache/exchange/read-cache.ts';
import { limits } from '../../../../daemon/base/limits.ts';

const digest = (seed: number | string): string => `sha256:${String(seed).padStart(64, '0')}`;
const layer = (seed: number): RemoteLayer => ({
  digest: digest(`a${seed}`),
  diffId: digest(`b${seed}`),
  size: seed,
  mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
});
const [ONE, TWO, THREE] = [layer(1), layer(2), layer(3)] as const;

const DOCUMENT: CacheDocument<RemoteLayer> = {
  results: [
    { key: digest(1), layers: [ONE], createdMs: 1_000 },
    { key: digest(2), layers: [ONE, TWO], createdMs: 2_001 },
    // The same layer on another: COPY --link.
    { key: digest(3), layers: [TWO], createdMs: 3_000 },
    { key: digest(4), layers: [], createdMs: 4_000 },
    { key: digest(5), layers: [ONE, THREE], createdMs: 5_000 },
  ],
  contentKeys: new Map([[digest(9), digest(5)]]),
};

const sorted = ({ results, contentKeys }: CacheDocument<RemoteLayer>): object => ({
  results: results.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
  contentKeys: [...contentKeys],
});

const keysOf = (bytes: string): string[] =>
  readCacheDocument(Buffer.from(bytes), 'c').results.map(({ key }) => key);

test('a document is read as it was written, and any order of its results is the same', () => {
  const bytes = writeCacheDocument(DOCUMENT);
  expect(sorted(readCacheDocument(bytes, 'c'))).toEqual(sorted(DOCUMENT));
  const turned = { ...DOCUMENT, results: DOCUMENT.results.toReversed() };
  expect(sorted(readCacheDocument(writeCacheDocument(turned), 'c'))).toEqual(sorted(DOCUMENT));
});

test('layers are named once for each that they stand on, as in BuildKit', () => {
  const { layers, records } = JSON.parse(writeCacheDocument(DOCUMENT).toString()) as {
    layers: { blob: string; parent: number }[];
    records: object[];
  };
  expect(layers.map(({ blob, parent }) => [blob, parent])).toEqual([
    [ONE.digest, -1],
    [TWO.digest, 0],
    [TWO.digest, -1],
    [THREE.digest, 0],
  ]);
  expect(records.at(-1)).toEqual({ digest: digest(9), inputs: [[{ link: 4 }]] });
});

test('of an image: what its layers hold, by their places', () => {
  const named = {
    results: DOCUMENT.results.map((result) => ({
      ...result,
      layers: result.layers.map(({ diffId }) => diffId),
    })),
    contentKeys: DOCUMENT.contentKeys,
  };
  const bytes = writeInlineCache(named, [ONE.diffId, TWO.diffId]);
  const { results, contentKeys } = readInlineCache(bytes, [ONE, TWO], 'c');
  expect(results).toEqual(DOCUMENT.results.slice(0, 4));
  expect(contentKeys).toEqual(new Map());
  expect(writeInlineCache({ results: [], contentKeys: new Map() }, [])).toHaveLength(0);
});

test('an image without a cache is an empty one; one whose layers do not agree is refused', () => {
  const config = (more: object): Buffer =>
    Buffer.from(JSON.stringify({ rootfs: { type: 'layers', diff_ids: [ONE.diffId] }, os: 'linux', ...more }));
  expect(readImageCache(config({}), [], 'c').results).toEqual([]);
  const records = writeInlineCache(
    { results: [{ key: digest(1), layers: [ONE.diffId], createdMs: 1 }], contentKeys: new Map() },
    [ONE.diffId],
  );
  const inline = config({ 'moby.buildkit.cache.v0': records.toString('base64') });
  expect(readImageCache(inline, [ONE], 'c').results[0]?.layers).toEqual([ONE]);
  // Here: the layers are those that it names.
  expect(readImageCache(inline, undefined, 'c').results[0]?.layers[0]?.diffId).toBe(ONE.diffId);
  expect(() => readImageCache(inline, [ONE, TWO], 'c')).toThrow('2 layers where');
  expect(() => readImageCache(config({ 'moby.buildkit.cache.v0': 5 }), [ONE], 'c')).toThrow('not a string');
});

test('a document in which one thing is changed is another, or none', () => {
  const text = writeCacheDocument(DOCUMENT).toString();
  const original = JSON.stringify(sorted(readCacheDocument(Buffer.from(text), 'c')));
  for (const match of text.matchAll(/sha256:([0-9a-f]{64})/g)) {
    const at = match.index + 'sha256:'.length;
    const changed = `${text.slice(0, at)}f${text.slice(at + 1)}`;
    expect(JSON.stringify(sorted(readCacheDocument(Buffer.from(changed), 'c'))), changed).not.toBe(original);
  }
  for (const { key } of DOCUMENT.results) {
    // No result comes under a key that it does not have.
    const gone = text.replaceAll(`"digest":"${key}"`, `"digest":"${digest('e')}"`);
    expect(keysOf(gone)).not.toContain(key);
  }
});

const LAYER = { blob: digest(1), parent: -1, annotations: { size: 1, mediaType: 'm', diffID: digest(2) } };

test.each([
  ['x', 'not valid JSON'],
  ['[]', 'not an object'],
  ['{"layers":{}}', 'c.layers: not an array'],
  [JSON.stringify({ layers: [{ ...LAYER, blob: 'x' }] }), 'layers[0].blob: not a sha256 digest'],
  [JSON.stringify({ layers: [{ ...LAYER, parent: 0 }] }), 'stands on no layer before it'],
  [JSON.stringify({ layers: [LAYER, { ...LAYER, parent: 1 }] }), 'layers[1].parent'],
  [JSON.stringify({ layers: [{ ...LAYER, annotations: { ...LAYER.annotations, size: -1 } }] }), 'size'],
  [JSON.stringify({ records: [{ digest: 'x' }] }), 'records[0].digest'],
  [
    JSON.stringify({ layers: [LAYER], records: [{ digest: digest(1), results: [{ layer: 1 }] }] }),
    'there is no layer 1',
  ],
  [JSON.stringify({ records: [{ digest: digest(1), inputs: [[{ link: 1 }]] }] }), 'there is no record 1'],
  [
    JSON.stringify({
      layers: [LAYER],
      records: [{ digest: digest(1), results: [{ layer: 0, createdAt: 'x' }] }],
    }),
    'not a time',
  ],
])('a document that is wrong is refused: %s', (text, problem) => {
  expect(() => readCacheDocument(Buffer.from(text), 'c')).toThrow(problem);
});

test('a document has bounds', () => {
  const many = Array.from({ length: limits.cacheRecordsMax + 1 }, () => ({ digest: digest(1) }));
  expect(() => readCacheDocument(Buffer.from(JSON.stringify({ records: many })), 'c')).toThrow('more than');
  const large = Buffer.alloc(limits.cacheDocumentBytesMax + 1, ' ');
  expect(() => readCacheDocument(large, 'c')).toThrow('larger than');
  const deep = Array.from({ length: limits.imageLayersMax + 1 }, (_, index) => ({
    ...LAYER,
    parent: index - 1,
  }));
  const records = [{ digest: digest(1), results: [{ layer: deep.length - 1 }] }];
  expect(() => readCacheDocument(Buffer.from(JSON.stringify({ layers: deep, records })), 'c')).toThrow(
    'stands on too many layers',
  );
});

const CONFIG = { digest: digest(7), size: 5, mediaType: 'application/vnd.buildkit.cacheconfig.v0' };

test.each([true, false])('a manifest leads to the document (as an image: %s)', (isImage) => {
  const { bytes } = writeCacheManifest(CONFIG, [ONE, TWO, ONE], isImage);
  expect(readCacheManifest(bytes, 'm')).toEqual({ kind: 'cache', document: CONFIG });
  expect(bytes.toString().split(ONE.digest)).toHaveLength(2);
});

test.each([
  ['{}', 'm.config: not an object'],
  ['{"manifests":[]}', 'neither a cache nor an image'],
  [JSON.stringify({ mediaType: 'x', config: { ...CONFIG, mediaType: 'y' }, layers: [] }), 'neither an image'],
])('a manifest that is neither a cache nor an image is refused: %s', (text, problem) => {
  expect(() => readCacheManifest(Buffer.from(text), 'm')).toThrow(problem);
});
