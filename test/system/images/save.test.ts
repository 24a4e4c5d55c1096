import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { imageTar } from '../../support/images/images.ts';
import { tar } from '../../support/images/tar.ts';
import { untar } from '../../support/images/untar.ts';

const X = tar([{ name: 'x', content: 'x' }]);
const Y = tar([{ name: 'y', content: 'y' }]);
const RICH = {
  tags: ['rich:1', 'rich:10', 'example.com/of/rich:2'],
  created: '2024-01-01T00:00:00.5Z',
  config: {
    Env: ['A=<1>&'],
    ExposedPorts: { '80/tcp': {}, '53/udp': {} },
    Healthcheck: { Interval: 5_000_000_000, Test: ['CMD', 'true'] },
    Labels: { b: '2', a: '1' },
    Shell: ['/bin/bash', '-c'],
    StopSignal: 'SIGINT',
    StopTimeout: 0,
    User: 'me',
    Volumes: { '/b': {}, '/a': {} },
    WorkingDir: '/w',
  },
};
/** When what an image is made of was made, and everything else. */
const CREATED = Date.parse('2024-01-01T00:00:00Z') / 1000;
const LAYER_X = 'e9e4c7388fb4f85d017cb518ff1773cbdda029adb79c55ff63304438b1cc8423';
const LAYER_Y = '4692af3b27232bf03b2124ee6f47a54bd3a549f6c2a0829e5efbf00826905e7a';
/** As dockerd 26.1 names them, which are digests: what is in a blob is in its name. */
const OF_RICH = {
  config: 'b9e6ab6daf9c653ecc301b348eaa82775a2f584bee7c405a12f898e22e07793b',
  manifest: '598697ac0d1724c968c065fa651340b2bf31d211911d80b4efafafe0c8cd0c01',
  layers: [LAYER_X, LAYER_Y, LAYER_X],
  layerConfigs: [
    'd14fe1d049db85a3cc2117291210c8c13646aeb67486782c92cb721b47915478',
    'fba1c956fa821f6e29d8d643a88753074b10a6537686b79c773d05aa047b0de5',
    '82d5698328f1cbf0353014cae859ecd304153ab6f91e54fa1edbc022527cab32',
  ],
};
const OF_PLAIN = {
  config: '3af955e9ebc2ef87a6a7f1384698ad5511f0f2c47b84a42c302617348b6ec1fc',
  manifest: 'd115f3d7e1cc1341a0e2724710d5a05d1d43aeba95c45a573d978dbb189592d8',
  layers: [LAYER_X],
  layerConfigs: ['a8880001c35aa7f99c30c65bd8213f8fe82f17c3a46db74e983c8bdeff792488'],
};
const RICH_SIZE = 697;
const PLAIN_SIZE = 397;

/** Holds under BERTH_TEST_ENGINE=dockerd26, too. */
describeEngine('what is saved', (engine) => {
  beforeAll(async () => {
    for (const bytes of [imageTar([X, Y, X], RICH), imageTar([X], { tags: ['plain:1'] })]) {
      await engine.http.ok('POST', '/images/load?quiet=1', bytes);
    }
  });
  afterAll(async () => {
    await engine.removeImages();
  });
  const save = async (...refs: string[]): Promise<Saved> => {
    const names = refs.map((ref) => `names=${ref}`).join('&');
    return readSaved((await engine.http.request('GET', `/images/get?${names}`)).bytes);
  };

  test('an image is a layout and what `docker load` reads, at once, each blob there once', async () => {
    expect(await save('rich', 'example.com/of/rich:2')).toEqual({
      blobs: blobsOf(OF_RICH),
      'index.json': index(
        entry(OF_RICH, RICH_SIZE, 'docker.io/library/rich', '1'),
        entry(OF_RICH, RICH_SIZE, 'docker.io/library/rich', '10'),
        entry(OF_RICH, RICH_SIZE, 'example.com/of/rich', '2'),
      ),
      'manifest.json': [dockerItem(OF_RICH, ['rich:1', 'rich:10', 'example.com/of/rich:2'])],
      'oci-layout': { imageLayoutVersion: '1.0.0' },
      repositories: { 'example.com/of/rich': { 2: LAYER_X }, rich: { 1: LAYER_X, 10: LAYER_X } },
    });
  });

  test('several share what is the same, and those that are asked for by id have no names', async () => {
    const ids = [OF_RICH, OF_PLAIN].map(({ config }) => `sha256:${config}`);
    expect(await save(...ids)).toEqual({
      blobs: blobsOf(OF_RICH, OF_PLAIN),
      // dockerd 26.1 forgets all but the first one there.
      'index.json': index(entry(OF_RICH, RICH_SIZE), ...(onReference ? [] : [entry(OF_PLAIN, PLAIN_SIZE)])),
      'manifest.json': [dockerItem(OF_RICH, null), dockerItem(OF_PLAIN, null)],
      'oci-layout': { imageLayoutVersion: '1.0.0' },
    });
  });
});

type Blobs = typeof OF_RICH;

/** Each with the time that it has, in seconds. */
function blobsOf(...images: Blobs[]): ReadonlyMap<string, number> {
  return new Map(
    images
      .flatMap(({ config, manifest, layers, layerConfigs }): [string, number][] => [
        [manifest, 0],
        ...[config, ...layers, ...layerConfigs].map((blob): [string, number] => [blob, CREATED]),
      ])
      .toSorted(byName),
  );
}

function index(...manifests: object[]): object {
  return { schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests };
}

function entry({ manifest }: Blobs, size: number, repository?: string, tag?: string): object {
  const annotations = {
    'io.containerd.image.name': `${repository}:${tag}`,
    'org.opencontainers.image.ref.name': tag,
  };
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  return { mediaType, digest: `sha256:${manifest}`, size, ...(tag !== undefined && { annotations }) };
}

function dockerItem({ config, layers }: Blobs, names: string[] | null): object {
  const mediaType = 'application/vnd.oci.image.layer.v1.tar';
  const sources = layers.map((layer) => [
    `sha256:${layer}`,
    { mediaType, size: X.length, digest: `sha256:${layer}` },
  ]);
  return {
    Config: `blobs/sha256/${config}`,
    RepoTags: names,
    Layers: layers.map((layer) => `blobs/sha256/${layer}`),
    LayerSources: Object.fromEntries(sources) as object,
  };
}

/** A tarball: blobs, which are the digests of what is in them, and documents by their names. */
interface Saved {
  blobs: ReadonlyMap<string, number>;
  [document: string]: unknown;
}

function readSaved(bytes: Buffer): Saved {
  const blobs: [string, number][] = [];
  const documents: Record<string, unknown> = {};
  for (const { name, type, mtime, content } of untar(bytes)) {
    if (name.startsWith('blobs/sha256/') && type === 'file') {
      expect(name).toBe(`blobs/sha256/${createHash('sha256').update(content).digest('hex')}`);
      blobs.push([name.slice('blobs/sha256/'.length), mtime.seconds]);
    } else if (type === 'file') {
      documents[name] = JSON.parse(content.toString());
    }
  }
  return { blobs: new Map(blobs.toSorted(byName)), ...documents };
}

function byName([a]: readonly [string, number], [b]: readonly [string, number]): number {
  return a < b ? -1 : 1;
}
