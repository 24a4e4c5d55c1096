import { expect, test } from 'vitest';
import { FileRuns } from '../../../../storage/layers/compose/file-runs.ts';
import { plainMember } from '../../../../storage/tar/plain-member.ts';
import type { TarMember } from '../../../../storage/tar/parser.ts';

const files = (count: number, size: number): TarMember[] =>
  Array.from({ length: count }, (_, index) => ({
    ...plainMember(`${index}`, { type: 'file', mode: 0o644, mtimeSeconds: 0 }),
    size,
  }));

test.each([
  ['none', files(0, 0), [0]],
  ['few', files(3, 10), [3]],
  ['many', files(130, 10), [64, 64, 2]],
  ['large ones', files(5, 3_000_000), [2, 2, 1]],
])('runs of files: %s', (_what, all, counts) => {
  const runs = new FileRuns(all);
  expect(counts.map(() => runs.take()?.length)).toEqual(counts);
  expect(runs.take()).toBeUndefined();
});

test('runs of files: each is taken once, from whichever side, until there is an end', () => {
  const all = files(200, 1);
  const one = new FileRuns(all);
  const other = new FileRuns(all, one.memory);
  expect([one.take()?.[0], other.take()?.[0]]).toEqual([all[0], all[64]]);
  one.end();
  expect([one.take(), other.take()]).toEqual([undefined, undefined]);
});
