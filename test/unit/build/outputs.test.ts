import { expect, test } from 'vitest';
import {
  annotationsOf,
  refuseAnnotations,
  type AnnotatedPlace,
} from '../../../daemon/build/export/annotations.ts';
import { attestationsFor } from '../../../daemon/build/attest/attested-outputs.ts';
import { attestedFormat } from '../../../daemon/build/export/layer-format.ts';
import { datedConfig } from '../../../daemon/build/export/dated-config.ts';
import { refusePlatforms } from '../../../daemon/build/export/refuse-platforms.ts';
import { readEpoch, readOutputs } from '../../../daemon/build/export/read-outputs.ts';

const asked = (type: string, attributes: Record<string, string> = {}): Parameters<typeof readOutputs>[0] => [
  { type, attributes: new Map(Object.entries(attributes)) },
];

const USUAL = { compression: 'gzip', level: undefined, isForced: false, isOci: false };

test('outputs are read with their options', () => {
  expect(readOutputs([])).toEqual([]);
  expect(readOutputs(asked('cacheonly'))).toEqual([]);
  const image = {
    kind: 'image',
    isCanonical: false,
    danglingPrefix: '',
    layers: USUAL,
    annotations: [],
    epochSeconds: undefined,
    rewritesTimes: false,
  };
  expect(readOutputs(asked('moby', { name: 'a,b:2', push: 'true' }))).toEqual([
    { ...image, names: ['a', 'b:2'], push: 'names', isStored: 'usual' },
  ]);
  expect(readOutputs(asked('image', { name: 'a', unpack: 'false', 'force-compression': 'false' }))).toEqual([
    { ...image, names: ['a'], push: 'none', isStored: 'usual' },
  ]);
  expect(
    readOutputs(asked('image', { name: 'a', push: 'true', store: 'false', compression: 'zstd' })),
  ).toEqual([
    {
      ...image,
      names: ['a'],
      push: 'names',
      isStored: false,
      layers: { compression: 'zstd', level: undefined, isForced: true, isOci: true },
    },
  ]);
  expect(readOutputs(asked('local', { dest: 'out', 'source-date-epoch': '5' }))).toEqual([
    { kind: 'local', isSplit: true, epochSeconds: 5 },
  ]);
  const attributes = {
    name: 'a',
    compression: 'gzip',
    'compression-level': '9',
    tar: 'false',
    'rewrite-timestamp': '1',
  };
  expect(readOutputs(asked('docker', attributes))).toEqual([
    {
      kind: 'archive',
      format: 'docker',
      names: ['a'],
      isTar: false,
      layers: { compression: 'gzip', level: 9, isForced: true, isOci: false },
      annotations: [],
      epochSeconds: undefined,
      rewritesTimes: true,
    },
  ]);
});

test('annotations say what they are of; what is said of a platform goes first', () => {
  const [output] = readOutputs(
    asked('oci', {
      'annotation.a': '1',
      'annotation-manifest[linux/arm64].a': '2',
      'annotation-manifest-descriptor.b.c': '3',
      'annotation-index.d': '4',
      'annotation-index-descriptor.e': '5',
    }),
  );
  const annotations = output?.kind === 'archive' ? output.annotations : [];
  const of = (place: AnnotatedPlace, architecture?: string): object =>
    Object.fromEntries(
      annotationsOf(
        annotations,
        place,
        architecture === undefined ? undefined : { os: 'linux', architecture },
      ),
    );
  expect(of('manifest', 'amd64')).toEqual({ a: '1' });
  expect(of('manifest', 'arm64')).toEqual({ a: '2' });
  expect(of('manifest-descriptor', 'arm64')).toEqual({ 'b.c': '3' });
  expect(of('index')).toEqual({ d: '4' });
  expect(of('index-descriptor')).toEqual({ e: '5' });
  const platforms = ['amd64', 'arm64'].map((architecture) => ({ os: 'linux', architecture }));
  expect(() => refuseAnnotations(annotations, { platforms, isIndex: true })).not.toThrow();
  const alone = { platforms: platforms.slice(0, 1), isIndex: false };
  expect(() => refuseAnnotations(annotations, alone)).toThrow(
    'index annotations not supported for single platform export',
  );
  const own = annotations.filter(({ place }) => place === 'manifest');
  expect(() => refuseAnnotations(own, alone)).toThrow(
    'annotation a is for linux/arm64, the result is for linux/amd64',
  );
});

test.each([
  [{ name: 'a', 'name-canonical': '1' }, true, ''],
  [{ name: 'a', 'dangling-name-prefix': 'x' }, false, 'x'],
  [{ 'dangling-name-prefix': 'x', 'danging-name-empty-only': 'true' }, false, 'x'],
  [{ name: 'a', 'dangling-name-prefix': 'x', 'danging-name-empty-only': 'true' }, false, ''],
  [{ name: 'a', push: 'true', 'dangling-name-prefix': 'x', 'danging-name-empty-only': '1' }, false, ''],
])('an image of %o is called by its digest: %j, %j', (attributes, isCanonical, danglingPrefix) => {
  for (const type of ['moby', 'image']) {
    expect(readOutputs(asked(type, attributes))[0]).toMatchObject({ isCanonical, danglingPrefix });
  }
});

test.each([
  ['other', {}, 'exporter "other" could not be found'],
  ['image', { 'name-canonical': 'maybe' }, 'option name-canonical=maybe: must be true or false'],
  [
    'image',
    { name: 'a', push: 'true', 'dangling-name-prefix': 'x' },
    'exporter image: dangling-name-prefix=x is not supported with push=true',
  ],
  ['image', { compression: 'zstd' }, 'exporter image: compression and force-compression are of an image'],
  ['image', { 'push-by-digest': 'true', name: 'a' }, 'exporter image: push-by-digest=true needs push=true'],
  [
    'local',
    { 'rewrite-timestamp': 'true' },
    'exporter local: option rewrite-timestamp=true is not supported',
  ],
  ['moby', { 'compression-level': '2' }, 'exporter moby: compression and force-compression are of an image'],
  ['local', { mode: 'delete' }, 'exporter local: option mode=delete is not supported'],
  ['oci', { compression: 'estargz' }, 'exporter oci: compression estargz is not supported'],
  ['oci', { 'compression-level': '10' }, 'option compression-level=10: gzip has 0 to 9'],
  ['oci', { compression: 'uncompressed', 'compression-level': '1' }, 'uncompressed has no levels'],
  ['oci', { 'annotation-index[linux/amd64].a': 'b' }, 'an index has no platform'],
  ['oci', { 'annotation-layer.a': 'b' }, 'exporter oci: option annotation-layer.a=b is not supported'],
  ['oci', { 'oci-mediatypes': 'maybe' }, 'option oci-mediatypes=maybe: must be true or false'],
])('output %s with %o is refused by name', (type, attributes, message) => {
  expect(() => readOutputs(asked(type, attributes))).toThrow(message);
});

test('a moment is a number of seconds', () => {
  expect(readEpoch('SOURCE_DATE_EPOCH', '')).toBeUndefined();
  expect(readEpoch('SOURCE_DATE_EPOCH', '0')).toBe(0);
  expect(() => readEpoch('SOURCE_DATE_EPOCH', 'now')).toThrow('invalid SOURCE_DATE_EPOCH: now');
  expect(() => readEpoch('SOURCE_DATE_EPOCH', '-1')).toThrow('invalid SOURCE_DATE_EPOCH: -1');
});

test('an image of a moment has nothing in its history that is later', () => {
  const config = {
    created: '2024-05-05T00:00:00.5Z',
    history: [
      { created: '1970-01-01T00:00:05Z', created_by: 'a' },
      { created_by: 'b' },
      { created: '2024-01-01T00:00:00Z' },
    ],
  };
  expect(JSON.parse(datedConfig(Buffer.from(JSON.stringify(config)), 10).toString())).toEqual({
    created: '1970-01-01T00:00:10Z',
    history: [
      { created: '1970-01-01T00:00:05Z', created_by: 'a' },
      { created_by: 'b', created: '1970-01-01T00:00:10Z' },
      { created: '1970-01-01T00:00:10Z' },
    ],
  });
});

test('several platforms at once go where there is room for them', () => {
  const both = 'linux/amd64,linux/arm64';
  for (const type of ['oci', 'local', 'tar', 'moby', 'image']) {
    expect(() => refusePlatforms(both, readOutputs(asked(type)), [])).not.toThrow();
  }
  expect(() => refusePlatforms('linux/arm64', readOutputs(asked('docker')), [])).not.toThrow();
  expect(() => refusePlatforms(both, readOutputs(asked('docker')), [])).toThrow('exporter docker: several');
});

const said = (fileName: string): Parameters<typeof attestationsFor>[1]['attestations'][number] => ({
  predicateType: 'p',
  predicate: Buffer.alloc(0),
  fileName,
  isInlineOnly: fileName === 'inline',
});

test.each([
  ['image', { push: 'true', name: 'a' }, false, ['own', 'inline']],
  ['image', {}, false, ['own']],
  ['oci', {}, false, ['own']],
  ['oci', {}, true, ['own', 'inline']],
  ['local', {}, true, ['own']],
])('output %s with %o, by platform %j, has of what is said %j', (type, attributes, isByPlatform, kept) => {
  const [output] = readOutputs(asked(type, attributes));
  const all =
    output && attestationsFor(output, { attestations: [said('own'), said('inline')], isByPlatform });
  expect(all?.map(({ fileName }) => fileName)).toEqual(kept);
});

const format = (attributes = {}): Parameters<typeof attestedFormat>[0] => {
  const [output] = readOutputs(asked('oci', attributes));
  return output?.kind === 'archive' ? output.layers : { ...USUAL, compression: 'gzip' };
};

test('attestations need the media types of OCI', () => {
  expect(attestedFormat({ ...format(), isOci: false }).isOci).toBe(true);
  expect(() => attestedFormat(format({ 'oci-mediatypes': 'false' }))).toThrow(
    'cannot export attestations with "oci-mediatypes=false"',
  );
});
