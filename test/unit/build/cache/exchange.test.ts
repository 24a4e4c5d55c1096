import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { ClientContent } from '../../../../api/types/build/session.ts';
import { clientSource } from '../../../../daemon/build/cache/exchange/client-cache.ts';
import type { RemoteLayer } from '../../../../daemon/build/cache/exchange/document.ts';
import { Gathered, within } from '../../../../daemon/build/cache/exchange/gathered.ts';
import { CacheImports, type ReadCache } from '../../../../daemon/build/cache/exchange/imports.ts';
import type { CacheTarget } from '../../../../daemon/build/cache/exchange/ports.ts';
import { readCache } from '../../../../daemon/build/cache/exchange/read-cache.ts';
import { writeCache } from '../../../../daemon/build/cache/exchange/write-cache.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import type { Vertex } from '../../../../daemon/build/graph/op.ts';
import { BuildTree } from '../../../../daemon/build/snapshots/tree.ts';
import type { RunContext } from '../../../../daemon/build/solver/ports.ts';

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const key = (seed: string): string => `sha256:${seed.padStart(64, '0')}`;
const layer = (seed: string): RemoteLayer => ({
  digest: key(`a${seed}`),
  diffId: key(`b${seed}`),
  size: 1,
  mediaType: 'm',
});
const VERTEX: Vertex = { op: { kind: 'merge' }, inputs: [], name: 'n' };
const { signal } = new AbortController();
// Nothing else of it is asked.
const CONTEXT = { signal } as unknown as RunContext;

/** A client's directory, in memory. */
class Directory implements ClientContent {
  readonly blobs = new Map<string, Buffer>();

  size(digest: string): Promise<number | undefined> {
    return Promise.resolve(this.blobs.get(digest)?.length);
  }

  async *read(digest: string): AsyncGenerator<Buffer> {
    yield await Promise.resolve(this.blobs.get(digest) ?? Buffer.alloc(0));
  }

  async write({ digest }: { digest: string }, content: AsyncIterable<Buffer>): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of content) {
      pieces.push(piece);
    }
    this.blobs.set(digest, Buffer.concat(pieces));
  }

  put(bytes: Buffer): string {
    this.blobs.set(digestOf(bytes), bytes);
    return digestOf(bytes);
  }
}

test('what a client sends of its directory is checked', async () => {
  const directory = new Directory();
  const source = clientSource(directory);
  const digest = directory.put(Buffer.from('{}'));
  expect(String(await source.manifest(digest, signal))).toBe('{}');
  directory.blobs.set(digest, Buffer.from('[]'));
  await expect(source.manifest(digest, signal)).rejects.toThrow('digest mismatch');
  await expect(source.manifest(key('9'), signal)).rejects.toThrow("the client's directory has no");
  const long = { digest, size: 1, mediaType: 'm' };
  await expect(source.blob(long, signal)).rejects.toThrow('more than the 1 bytes');
  const large = { digest, size: 2 ** 40, mediaType: 'm' };
  await expect(source.blob(large, signal)).rejects.toThrow('more than');
});

const cache = (name: string, results: [string, string[]][], links: [string, string][] = []): ReadCache => ({
  name,
  source: {
    layer: () => {
      throw new Error(`asked for a layer of ${name}`);
    },
  },
  document: {
    results: results.map(([of, layers]) => ({
      key: key(of),
      layers: layers.map((one) => layer(one)),
      createdMs: 5,
    })),
    contentKeys: new Map(links.map(([from, to]) => [key(from), key(to)])),
  },
});

/** Imports of these caches: what is received, adopted and told. */
function importing(
  caches: readonly ReadCache[],
  fails: (layers: readonly RemoteLayer[]) => boolean,
): {
  imports: CacheImports;
  adopted: [string, number, readonly string[]][];
  told: string[];
} {
  const adopted: [string, number, readonly string[]][] = [];
  const told: string[] = [];
  const imports = new CacheImports(caches, {
    layers: {
      receive: (layers) =>
        fails(layers)
          ? Promise.reject(new Error('it is broken'))
          : Promise.resolve({
              layerIds: layers.map((_, position) => position),
              pin: { [Symbol.dispose]: () => undefined },
            }),
    },
    records: {
      adopt: (of, layers, { createdMs, definitionKeys }) => {
        adopted.push([of, createdMs, definitionKeys]);
        return new BuildTree({ kind: 'layers', layerIds: layers.layerIds }, () => undefined);
      },
    },
    warn: (text) => told.push(text),
  });
  return { imports, adopted, told };
}

test('of several caches the first that has a result is asked, and only for what is asked', async () => {
  const caches = [
    cache('one', [['1', ['e1']]]),
    cache(
      'two',
      [
        ['1', ['e2']],
        ['2', ['e2']],
      ],
      [['8', '2']],
    ),
  ];
  const { imports, adopted } = importing(caches, () => false);
  expect(imports.findContentKey(key('8'))).toBe(key('2'));
  expect(imports.findContentKey(key('7'))).toBeUndefined();
  expect(imports.resultOf(key('1'))?.layers).toEqual([layer('e1')]);
  expect(adopted).toEqual([]);
  expect(await imports.find(key('2'), VERTEX, CONTEXT)).toBeInstanceOf(BuildTree);
  expect(adopted).toEqual([[key('2'), 5, [key('8')]]]);
  // Any other key is another result.
  expect(await imports.find(key('3'), VERTEX, CONTEXT)).toBeUndefined();
});

test('a cache whose layers cannot be had is told of once, and asked no more', async () => {
  const caches = [
    cache('one', [
      ['1', ['e1']],
      ['2', ['e1']],
    ]),
    cache('two', [['3', ['e2']]]),
  ];
  const { imports, told } = importing(caches, ([first]) => first?.diffId === layer('e1').diffId);
  expect(await imports.find(key('1'), VERTEX, CONTEXT)).toBeUndefined();
  expect(await imports.find(key('2'), VERTEX, CONTEXT)).toBeUndefined();
  expect(told).toEqual(['one: it is broken']);
  expect(await imports.find(key('3'), VERTEX, CONTEXT)).toBeInstanceOf(BuildTree);
});

test('a build that was canceled meanwhile ends by that', async () => {
  const stop = new AbortController();
  const { imports, told } = importing([cache('one', [['1', ['e1']]])], () => true);
  stop.abort(new Error('over'));
  const context = { signal: stop.signal } as unknown as RunContext;
  await expect(imports.find(key('1'), VERTEX, context)).rejects.toThrow('over');
  expect(told).toEqual([]);
});

test('gathered: what no other build can come to is left out', () => {
  const gathered = new Gathered();
  const keys = { isLasting: true, definitionKey: undefined };
  gathered.keyed(VERTEX, { ...keys, key: 'a', definitionKey: 'a' });
  gathered.keyed(VERTEX, { ...keys, key: 'b', definitionKey: 'd' });
  gathered.keyed(VERTEX, { ...keys, key: 'c', isLasting: false });
  gathered.keyed(VERTEX, { ...keys, key: 'e' });
  let holds = 0;
  const tree = (layerIds: number[]): BuildTree => {
    holds += 1;
    return new BuildTree({ kind: 'layers', layerIds }, () => (holds -= 1));
  };
  const results = new Map([
    ['a', [1]],
    ['b', [1, 2]],
    ['c', [3]],
  ]);
  const peek = (of: string): BuildTree | undefined => {
    const layerIds = results.get(of);
    return layerIds && tree(layerIds);
  };
  const elsewhere = { key: 'e', layers: [layer('e3')], createdMs: 1 };
  const held = gathered.hold({ peek }, { resultOf: (of) => (of === 'e' ? elsewhere : undefined) });
  expect(held.document.results.map(({ key: of, layers }) => [of, layers])).toEqual([
    ['a', [1]],
    ['b', [1, 2]],
  ]);
  expect([...held.document.contentKeys]).toEqual([['d', 'b']]);
  expect(held.elsewhere).toEqual([elsewhere]);
  expect(within(held.document, [1]).results.map(({ key: of }) => of)).toEqual(['a']);
  held[Symbol.dispose]();
  expect(holds).toBe(0);
});

test('what is written is read again, with what was carried over because its layers are there', async () => {
  const directory = new Directory();
  const put = (
    bytes: Buffer,
    mediaType: string,
  ): Promise<{ digest: string; size: number; mediaType: string }> =>
    Promise.resolve({ digest: directory.put(bytes), size: bytes.length, mediaType });
  const steps: string[] = [];
  const target: CacheTarget = {
    has: ({ digest }) => Promise.resolve(digest === layer('c1').digest),
    putLayer: (layerId) =>
      put(Buffer.from(`layer ${layerId}`), 'application/vnd.oci.image.layer.v1.tar+gzip'),
    putBlob: put,
    putManifest: ({ bytes, mediaType }) => put(bytes, mediaType),
    [Symbol.dispose]: () => undefined,
  };
  const held = {
    results: [
      { key: key('1'), layers: [1], createdMs: 1 },
      { key: key('2'), layers: [1, 2], createdMs: 2 },
    ],
    contentKeys: new Map([[key('3'), key('2')]]),
  };
  const there = { key: key('4'), layers: [layer('c1')], createdMs: 4 };
  const gone = { key: key('5'), layers: [layer('c1'), layer('c2')], createdMs: 5 };
  const { digest } = await writeCache(target, held, {
    isImage: true,
    elsewhere: [there, gone],
    diffId: (id) => key(`d${id}`),
    told: (step) => steps.push(step),
    signal,
  });
  expect(steps.map((step) => step.replace(/sha256:.*/, ''))).toEqual([
    'writing layer ',
    'writing layer ',
    'writing config ',
    'writing cache manifest ',
  ]);
  const read = await readCache(clientSource(directory), digest, { where: 'c', signal });
  expect(read.results.map((one) => [one.key, one.layers.map(({ diffId }) => diffId), one.createdMs])).toEqual(
    [
      [key('1'), [key('d1')], 1],
      [key('2'), [key('d1'), key('d2')], 2],
      [key('4'), [layer('c1').diffId], 4],
    ],
  );
  expect([...read.contentKeys]).toEqual([[key('3'), key('2')]]);
});

test('layers are written several at a time, in one order; where one fails nothing goes on', async () => {
  const written: number[] = [];
  let [running, most] = [0, 0];
  const target = (fails: number): CacheTarget => ({
    has: () => Promise.resolve(false),
    putLayer: async (layerId, ends) => {
      running += 1;
      most = Math.max(most, running);
      // Later ones are faster.
      for (let turn = layerId; turn < 12; turn += 1) {
        await new Promise(setImmediate);
      }
      running -= 1;
      ends.throwIfAborted();
      if (layerId === fails) {
        throw new Error(`layer ${layerId} is refused`);
      }
      written.push(layerId);
      return { digest: key(String(layerId)), size: 1, mediaType: 'm' };
    },
    putBlob: (bytes, mediaType) =>
      Promise.resolve({ digest: digestOf(bytes), size: bytes.length, mediaType }),
    putManifest: ({ bytes, mediaType }) =>
      Promise.resolve({ digest: digestOf(bytes), size: bytes.length, mediaType }),
    [Symbol.dispose]: () => undefined,
  });
  const layers = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const held = { results: [{ key: key('1'), layers, createdMs: 1 }], contentKeys: new Map<string, string>() };
  const write = async (fails: number): Promise<string> => {
    const to = target(fails);
    const options = {
      isImage: true,
      elsewhere: [],
      diffId: (id: number) => key(`b${id}`),
      told: () => undefined,
    };
    return (await writeCache(to, held, { ...options, signal })).digest;
  };
  const first = await write(0);
  expect(most).toBe(limits.cacheUploadsMax);
  expect(written.toSorted((a, b) => a - b)).toEqual(layers);
  expect(written).not.toEqual(layers);
  expect(await write(0)).toBe(first);
  written.length = 0;
  await expect(write(2)).rejects.toThrow('layer 2 is refused');
  expect(running).toBe(0);
  expect(written.length).toBeLessThan(layers.length - 1);
});
