import { describe, expect, test } from 'vitest';
import { EngineError } from '../../../../daemon/base/errors.ts';
import { readIndex } from '../../../../storage/image/descriptor.ts';
import { parseImageConfig } from '../../../../storage/image/image-config.ts';
import { asObject, parseJson } from '../../../../storage/image/json.ts';
import { humanSize, progressBar } from '../../../../daemon/images/progress.ts';
import { mutations } from '../../../support/api/mutations.ts';

const DIFF = `sha256:${'0'.repeat(64)}`;
const good = { os: 'linux', architecture: 'amd64', rootfs: { type: 'layers', diff_ids: [DIFF] } };

function parse(value: unknown): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return parseImageConfig(Buffer.from(text), 'config');
}

describe('image configuration', () => {
  test('takes null for absent everywhere, as Go writes it', () => {
    const config = { Cmd: null, Env: null, Labels: null, Volumes: null, Healthcheck: null };
    expect(parse({ ...good, config, history: null, created: null })).toMatchObject({
      config,
      history: [],
      created: undefined,
    });
  });

  test.each<[string, unknown, string]>([
    ['no JSON', '{', 'config: not valid JSON'],
    ['no object', [], 'config: not an object'],
    ['no rootfs', { os: 'linux' }, 'config.rootfs: not an object'],
    ['another rootfs', { rootfs: { type: 'layer' } }, 'config.rootfs.type: not "layers"'],
    [
      'a digest that is none',
      { rootfs: { type: 'layers', diff_ids: ['sha256:../..'] } },
      'diff_ids[0]: not a sha256',
    ],
    [
      'an upper-case digest',
      { rootfs: { type: 'layers', diff_ids: [DIFF.replaceAll('0', 'A')] } },
      'not a sha256',
    ],
    ['another system', { ...good, os: 'windows' }, '"windows" cannot be used on this platform'],
    ['null history entries', { ...good, history: [null] }, 'config.history[0]: not an object'],
    [
      'more steps than layers',
      { ...good, history: [{}, {}] },
      'too many non-empty layers in History section',
    ],
    ['a command that is text', { ...good, config: { Cmd: 'sh' } }, 'config.config.Cmd: not an array'],
    ['numbers as environment', { ...good, config: { Env: [1] } }, 'config.config.Env[0]: not a string'],
    ['labels as a list', { ...good, config: { Labels: ['a'] } }, 'config.config.Labels: not an object'],
    [
      'a negative timeout',
      { ...good, config: { StopTimeout: -1 } },
      'config.config.StopTimeout: not a whole number',
    ],
    ['a time that is none', { ...good, created: 'yesterday' }, 'config.created: not a time'],
    ['a time that cannot be', { ...good, created: '2024-13-01T00:00:00Z' }, 'config.created: not a time'],
    ['a prototype', `{"__proto__":{"os":"linux"},${JSON.stringify(good).slice(1)}`, '__proto__'],
    [
      'an escaped prototype',
      `{"config":{"Labels":{"\\u005f_proto__":"x"}},${JSON.stringify(good).slice(1)}`,
      '__proto__',
    ],
    ['deep nesting', '['.repeat(100_000), 'nested deeper than'],
    [
      'too many layers',
      { rootfs: { type: 'layers', diff_ids: Array.from({ length: 600 }, () => DIFF) } },
      'more than 512',
    ],
  ])('refuses %s', (_title, value, message) => {
    expect(() => parse(value)).toThrow(message);
  });

  test('sizes and bars look as docker draws them', () => {
    expect([humanSize(0), humanSize(999), humanSize(32_768), humanSize(2_131_968), humanSize(5e9)]).toEqual([
      '0B',
      '999B',
      '32.77kB',
      '2.132MB',
      '5GB',
    ]);
    expect(progressBar(32_768, 65_536)).toBe(`[${'='.repeat(25)}>${' '.repeat(25)}]  32.77kB/65.54kB`);
  });
});

test.each([
  [
    'configuration',
    {
      ...good,
      created: '2024-01-01T00:00:00Z',
      config: {
        Cmd: ['sh'],
        Env: ['A=1'],
        Labels: { a: 'b' },
        Healthcheck: { Test: ['NONE'], Interval: 1e9 },
      },
      history: [{ created_by: 'a' }, { empty_layer: true, comment: 'c' }],
    },
    (bytes: Buffer) => parseImageConfig(bytes, 'x'),
  ],
  [
    'index of a layout',
    {
      schemaVersion: 2,
      manifests: [
        {
          mediaType: 'application/vnd.oci.image.manifest.v1+json',
          digest: DIFF,
          size: 3,
          platform: { os: 'linux', architecture: 'amd64', variant: 'v8' },
          annotations: { 'io.containerd.image.name': 'a:1' },
        },
      ],
    },
    (bytes: Buffer) => readIndex(asObject(parseJson(bytes, 'x'), 'x'), 'x'),
  ],
] as const)(
  'class 12: whatever a tarball holds as %s is read or an error that says so',
  (_title, whole, read) => {
    const outcomes = { taken: 0, refused: 0 };
    for (const text of mutations(JSON.stringify(whole), 20_000)) {
      try {
        read(Buffer.from(text));
        outcomes.taken += 1;
      } catch (error) {
        expect(error, text).toBeInstanceOf(EngineError);
        outcomes.refused += 1;
      }
    }
    expect(outcomes.refused).toBeGreaterThan(10_000);
    expect(Object.keys(Object.prototype)).toEqual([]);
  },
);
