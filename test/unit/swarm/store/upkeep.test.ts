import { expect, test } from 'vitest';
import { compactionTarget, isWorthDefragmenting, keptSamples } from '../../../../swarm/store/upkeep.ts';

const MINUTE = 60_000;
const samples = [
  { atMs: 0, revision: 100 },
  { atMs: 5 * MINUTE, revision: 200 },
  { atMs: 10 * MINUTE, revision: 300 },
];

const NOW_ROWS: [string, Parameters<typeof compactionTarget>[1], number | undefined][] = [
  ['ten minutes are kept', { atMs: 15 * MINUTE, revision: 400, slowest: 400, compactedTo: 0 }, 200],
  [
    'what a cache has not seen is kept',
    { atMs: 15 * MINUTE, revision: 400, slowest: 150, compactedTo: 0 },
    150,
  ],
  ['nothing old enough', { atMs: 9 * MINUTE, revision: 400, slowest: 400, compactedTo: 0 }, undefined],
  [
    '50,000 revisions are kept',
    { atMs: 9 * MINUTE, revision: 60_000, slowest: 60_000, compactedTo: 0 },
    10_000,
  ],
  ['forgotten already', { atMs: 15 * MINUTE, revision: 400, slowest: 400, compactedTo: 200 }, undefined],
];

test.each(NOW_ROWS)('compaction: %s', (_what, now, target) => {
  expect(compactionTarget(samples, now)).toBe(target);
});

test('compaction: samples older than the newest old one are not needed', () => {
  expect(keptSamples(samples, 15 * MINUTE)).toEqual(samples.slice(1));
  expect(keptSamples(samples, MINUTE)).toEqual(samples);
});

test('defragmentation: is worth its pause where a large file is mostly free', () => {
  const mb = 1024 * 1024;
  const worth = [
    [101 * mb, 50 * mb],
    [101 * mb, 51 * mb],
    [99 * mb, mb],
  ].map(([fileBytes = 0, usedBytes = 0]) => isWorthDefragmenting({ fileBytes, usedBytes }));
  expect(worth).toEqual([true, false, false]);
});
