import { expect, test } from 'vitest';
import type { OpDeps } from '../../../daemon/build/ops/ports.ts';
import { findSources } from '../../../daemon/build/ops/sources.ts';
import { BuildTree } from '../../../daemon/build/snapshots/tree.ts';
import { ContextTree } from '../../../storage/contexts/tree.ts';

// Of a client's files nothing but the worker is asked.
const deps = { workerId: 'worker' } as unknown as OpDeps;
const { signal } = new AbortController();
const find = async (from: BuildTree, path: string): ReturnType<typeof findSources> =>
  await findSources(deps, from, { sources: [path], signal });

test('a source that is not there is told as BuildKit tells it, with the worker and the tree', async () => {
  const context = { tree: new ContextTree(new Map()), fd: -1, isBare: false };
  using tree = new BuildTree({ kind: 'files', context }, () => undefined);
  using other = new BuildTree({ kind: 'files', context }, () => undefined);
  expect(tree.id).toMatch(/^[0-9a-f]{32}$/);
  expect(other.id).not.toBe(tree.id);
  for (const [asked, shown] of [
    ['Dockerfile', '/Dockerfile'],
    ['a/../b\\*', '/b*'],
  ] as const) {
    await expect(find(tree, asked)).rejects.toMatchObject({
      code: 'not_found',
      message: `failed to calculate checksum of ref worker::${tree.id}: ${JSON.stringify(shown)}: not found`,
    });
  }
  expect(await find(tree, '*.c')).toEqual([]);
});
