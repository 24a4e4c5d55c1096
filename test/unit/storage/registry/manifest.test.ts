import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { EngineError } from '../../../../daemon/base/errors.ts';
import { parseManifest } from '../../../../storage/registry/manifest.ts';
import { mutations } from '../../../support/api/mutations.ts';

const TYPE = 'application/vnd.oci.image.manifest.v1+json';
const digest = `sha256:${'a'.repeat(64)}`;
const manifest = {
  schemaVersion: 2,
  mediaType: TYPE,
  config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest, size: 2 },
  layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', digest, size: 3 }],
};
const parse = (value: unknown, contentType = TYPE): unknown =>
  parseManifest(Buffer.from(JSON.stringify(value)), { where: 'x', contentType });

const item = (platform: object, annotations = {}): object => ({
  mediaType: TYPE,
  digest,
  size: 1,
  platform,
  annotations,
});

it('a manifest with nothing unusual is taken, with or without a type in its header', () => {
  const bytes = Buffer.from(JSON.stringify(manifest));
  const expected = {
    kind: 'image',
    mediaType: TYPE,
    digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
    config: { digest, size: 2 },
    layers: [{ digest, size: 3 }],
  };
  expect(parse(manifest)).toMatchObject(expected);
  expect(parse(manifest, `${TYPE}; charset=utf-8`)).toMatchObject(expected);
  expect(parse(manifest, 'application/json')).toMatchObject(expected);
  expect(parse(manifest, '')).toMatchObject(expected);
});

it('an index leaves out attestations', () => {
  const type = 'application/vnd.oci.image.index.v1+json';
  const manifests = [
    item({ os: 'linux', architecture: 'amd64' }),
    item({ os: 'unknown', architecture: 'unknown' }, { 'vnd.docker.reference.type': 'attestation-manifest' }),
  ];
  expect(parse({ schemaVersion: 2, mediaType: type, manifests }, type)).toMatchObject({
    kind: 'index',
    manifests: [{ platform: { architecture: 'amd64' } }],
  });
});

it.each([
  [
    'a foreign layer',
    {
      layers: [
        {
          ...manifest.layers[0],
          mediaType: 'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip',
          urls: ['http://x'],
        },
      ],
    },
    'is no layer',
  ],
  [
    'no image but a chart',
    { config: { ...manifest.config, mediaType: 'application/vnd.cncf.helm.config.v1+json' } },
    'is no image configuration',
  ],
  [
    'too many layers',
    { layers: Array.from({ length: 513 }, () => manifest.layers[0]) },
    'more than 512 layers',
  ],
  ['a configuration of gigabytes', { config: { ...manifest.config, size: 1e10 } }, 'larger than'],
  ['layers that are none', { layers: 7 }, 'not an array'],
  [
    'a digest in capitals',
    { config: { ...manifest.config, digest: digest.toUpperCase() } },
    'not a sha256 digest',
  ],
])('class 12: %s is refused', (_title, change, message) => {
  expect(() => parse({ ...manifest, ...change })).toThrow(message);
});

it('class 12: whatever a registry sends is a manifest or an error that says so', () => {
  const outcomes = { taken: 0, refused: 0 };
  for (const bytes of mutations(JSON.stringify(manifest), 5000)) {
    try {
      parseManifest(Buffer.from(bytes), { where: 'x', contentType: TYPE });
      outcomes.taken += 1;
    } catch (error) {
      expect(error).toBeInstanceOf(EngineError);
      outcomes.refused += 1;
    }
  }
  expect(outcomes.refused).toBeGreaterThan(3000);
});
