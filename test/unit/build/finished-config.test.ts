import { expect, test } from 'vitest';
import { finishedConfig } from '../../../daemon/build/control/finished-config.ts';
import { belowPivot } from '../../../daemon/build/ops/file-actions/copy.ts';

const BASE = { createdBy: 'base', comment: '', emptyLayer: false, created: '2020-01-01T00:00:00Z' };
const entry = (createdBy: string, emptyLayer: boolean): Omit<typeof BASE, 'created'> => ({
  createdBy,
  comment: 'buildkit.dockerfile.v0',
  emptyLayer,
});

test('the history has the times of results, and says which steps changed nothing', () => {
  const image = {
    os: 'linux',
    architecture: 'amd64',
    variant: '',
    author: '',
    config: { Env: ['A=b'] },
    history: [BASE, entry('ENV A=b', true), entry('RUN one', false), entry('RUN nothing', false)],
  };
  const steps = [
    { hasLayer: true, createdMs: 1_700_000_000_000 },
    { hasLayer: false, createdMs: 1_700_000_001_500 },
  ];
  const bytes = finishedConfig(image, { steps, diffIds: ['sha256:base', 'sha256:one'] });
  expect(JSON.parse(bytes.toString())).toEqual({
    architecture: 'amd64',
    os: 'linux',
    config: { Env: ['A=b'] },
    created: '2023-11-14T22:13:21.500000000Z',
    rootfs: { type: 'layers', diff_ids: ['sha256:base', 'sha256:one'] },
    history: [
      { created: '2020-01-01T00:00:00Z', created_by: 'base' },
      {
        created: '2020-01-01T00:00:00Z',
        created_by: 'ENV A=b',
        comment: 'buildkit.dockerfile.v0',
        empty_layer: true,
      },
      { created: '2023-11-14T22:13:20.000000000Z', created_by: 'RUN one', comment: 'buildkit.dockerfile.v0' },
      {
        created: '2023-11-14T22:13:21.500000000Z',
        created_by: 'RUN nothing',
        comment: 'buildkit.dockerfile.v0',
        empty_layer: true,
      },
    ],
  });
  expect(finishedConfig(image, { steps, diffIds: ['sha256:base', 'sha256:one'] })).toEqual(bytes);
});

test.each([
  ['/a/b/c', '/a/./b/c', 'b/c'],
  ['a/b/c', '/./a/b/c', 'a/b/c'],
  ['/a/b', '/a/b', 'a/b'],
  ['/a/b/c', '/a/b/./*', 'c'],
])('%s of %s goes to %s', (path, asked, below) => {
  expect(belowPivot(path, asked)).toBe(below);
});
