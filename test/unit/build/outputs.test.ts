import { expect, test } from 'vitest';
import { datedConfig } from '../../../daemon/build/export/dated-config.ts';
import { refusePlatforms, refuseReturnedPlatforms } from '../../../daemon/build/export/refuse-platforms.ts';
import { readEpoch, readOutputs } from '../../../daemon/build/export/read-outputs.ts';

const asked = (type: string, attributes: Record<string, string> = {}): Parameters<typeof readOutputs>[0] => [
  { type, attributes: new Map(Object.entries(attributes)) },
];

test('outputs are read with their options', () => {
  expect(readOutputs([])).toEqual([]);
  expect(readOutputs(asked('cacheonly'))).toEqual([]);
  expect(readOutputs(asked('moby', { name: 'a,b:2', push: 'true' }))).toEqual([
    { kind: 'image', names: ['a', 'b:2'], push: 'none', epochSeconds: undefined },
  ]);
  expect(readOutputs(asked('local', { dest: 'out', 'source-date-epoch': '5' }))).toEqual([
    { kind: 'local', isSplit: true, epochSeconds: 5 },
  ]);
  expect(
    readOutputs(asked('docker', { name: 'a', compression: 'uncompressed', 'annotation-manifest.k': 'v' })),
  ).toEqual([
    {
      kind: 'archive',
      format: 'docker',
      names: ['a'],
      compression: 'uncompressed',
      isOci: false,
      annotations: new Map([['k', 'v']]),
      descriptorAnnotations: new Map(),
      epochSeconds: undefined,
    },
  ]);
});

test.each([
  ['other', {}, 'exporter other is not supported'],
  ['image', { store: 'false' }, 'exporter image: option store=false is not supported'],
  ['image', { 'push-by-digest': 'true', name: 'a' }, 'exporter image: push-by-digest=true needs push=true'],
  ['moby', { 'rewrite-timestamp': 'true' }, 'exporter moby: option rewrite-timestamp=true is not supported'],
  ['local', { mode: 'delete' }, 'exporter local: option mode=delete is not supported'],
  ['oci', { compression: 'estargz' }, 'exporter oci: compression estargz is not supported'],
  ['oci', { 'annotation-index.a': 'b' }, 'exporter oci: option annotation-index.a=b is not supported'],
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
  for (const type of ['oci', 'local', 'tar']) {
    expect(() => refusePlatforms(both, readOutputs(asked(type)), [])).not.toThrow();
  }
  expect(() => refusePlatforms('linux/arm64', readOutputs(asked('moby')), [])).not.toThrow();
  expect(() => refusePlatforms(both, readOutputs(asked('moby')), [])).toThrow(
    'exporter image: several platforms at once are not supported: linux/amd64,linux/arm64',
  );
  expect(() => refusePlatforms(both, readOutputs(asked('docker')), [])).toThrow('exporter docker: several');
  expect(() => refuseReturnedPlatforms(both)).toThrow('several platforms at once are not supported');
});
