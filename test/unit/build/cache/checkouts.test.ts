import { expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { Checkouts } from '../../../../daemon/build/cache/checkouts.ts';
import { BuildTree } from '../../../../daemon/build/snapshots/tree.ts';
import { ContextTree } from '../../../../storage/contexts/tree.ts';
import { plainMember } from '../../../../storage/tar/plain-member.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';

const gone: string[] = [];

/** One file of so many bytes. */
function checkout(name: string, size = 1): BuildTree {
  const member = { ...plainMember('f', { type: 'file', mode: 0o644, mtimeSeconds: 0 }), size };
  const tree = new ContextTree(new Map([['f', { path: 'f', digest: '', member }]]));
  return new BuildTree({ kind: 'files', context: { tree, fd: -1, isBare: false } }, () => gone.push(name));
}

function kept(): { checkouts: Checkouts; clock: ManualClock; keep: (name: string, size?: number) => void } {
  gone.length = 0;
  const clock = new ManualClock();
  const checkouts = new Checkouts(clock);
  const keep = (name: string, size?: number): void => {
    using tree = checkout(name, size);
    checkouts.keep(name, tree);
  };
  return { checkouts, clock, keep };
}

test('a checkout is found by its key until nobody has used it for so long; who reads it holds it', async () => {
  const { checkouts, clock, keep } = kept();
  keep('a');
  expect(checkouts.find('b')).toBeUndefined();
  await clock.advance(limits.contextKeptMs - 1);
  checkouts.find('a')?.[Symbol.dispose]();
  await clock.advance(limits.contextKeptMs - 1);
  const held = checkouts.find('a');
  await clock.advance(limits.contextKeptMs);
  expect([checkouts.find('a'), gone]).toEqual([undefined, []]);
  held?.[Symbol.dispose]();
  expect(gone).toEqual(['a']);
});

test('the one that was not used for longest goes where there are too many', () => {
  const { checkouts, keep } = kept();
  const names = Array.from({ length: limits.checkoutsKeptMax }, (_, at) => `${at}`);
  names.forEach((name) => keep(name));
  checkouts.find('0')?.[Symbol.dispose]();
  keep('more');
  expect(gone).toEqual(['1']);
});

test('so many bytes are kept at most, and nothing that has more', () => {
  const { checkouts, keep } = kept();
  const half = limits.checkoutsKeptBytesMax / 2;
  keep('a', half);
  keep('b', half);
  keep('c', 1);
  keep('whole', limits.checkoutsKeptBytesMax + 1);
  expect(gone).toEqual(['a', 'whole']);
  expect(checkouts.prune()).toBe(half + 1);
  expect([gone, checkouts.prune()]).toEqual([['a', 'whole', 'b', 'c'], 0]);
});

test('made anew, it takes the place of the older one', () => {
  const { checkouts, keep } = kept();
  keep('a', 5);
  keep('a', 7);
  expect([[...gone], checkouts.prune()]).toEqual([['a'], 7]);
});
