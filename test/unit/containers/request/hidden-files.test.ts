import { expect, test } from 'vitest';
import { withHiddenFiles } from '../../../../daemon/containers/request/mounts/hidden-files.ts';
import type { TmpfsMount } from '../../../../daemon/containers/request/mounts/resolved-mount.ts';

const tmpfs = (destination: string): TmpfsMount => ({
  type: 'tmpfs',
  destination,
  mode: '',
  rw: true,
  options: [],
  isHidden: false,
});

test('hidden files: lie in what is mounted above them, read-only', () => {
  const mounts = withHiddenFiles(
    [tmpfs('/run'), tmpfs('/a/b/c/d')],
    [{ source: '/x/0', target: '/run/secrets/s' }],
  );
  expect(mounts.map(({ destination, rw }) => [destination, rw])).toEqual([
    ['/run', true],
    ['/run/secrets/s', false],
    ['/a/b/c/d', true],
  ]);
});

test.each([
  ['the place of a mount', ['/run'], 'Duplicate mount point: /run'],
  ['one place for two', ['/s', '/s'], 'Duplicate mount point: /s'],
  ['the root', ['/'], "destination can't be '/'"],
  ['a place of the kernel', ['/proc/1/environ'], 'is inside /proc'],
  ['a path that is too long', [`/${'x'.repeat(5000)}`], 'is longer than'],
])('hidden files: refuse %s', (_title, targets, text) => {
  const files = targets.map((target) => ({ source: '/x/0', target }));
  expect(() => withHiddenFiles([tmpfs('/run')], files)).toThrow(text);
});
