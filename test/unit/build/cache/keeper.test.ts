import { expect, test } from 'vitest';
import { CacheKeeper, type KeeperDeps } from '../../../../daemon/build/cache/keeper.ts';
import type { CollectRule } from '../../../../daemon/build/cache/collect.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';

const ALL: CollectRule = {
  takesInternal: true,
  unusedMs: 0,
  reservedBytes: 0,
  usedBytesMax: 0,
  freeBytesMin: 0,
};

const row = (id: string): object => ({
  id,
  key: id,
  type: 'regular',
  layerId: null,
  sizeBytes: 1,
  createdMs: 0,
  lastUsedMs: 0,
  usageCount: 1,
  description: id,
});

/** Records without layers, and how often a policy was asked for. */
function kept(rules: CollectRule[] | undefined): {
  clock: ManualClock;
  keeper: CacheKeeper;
  ids: Set<string>;
  asked: () => number;
} {
  const clock = new ManualClock();
  const ids = new Set<string>();
  let asked = 0;
  const deps = {
    table: { all: () => [...ids].map((id) => row(id)), remove: (id: string) => ids.delete(id) },
    layers: { collect: () => Promise.resolve() },
    caches: {},
    clock,
    log: silentLogger,
    disk: () => ({ totalBytes: 100, freeBytes: 50 }),
    rules: () => {
      asked += 1;
      return rules;
    },
  };
  // Records without layers need nothing else.
  const keeper = new CacheKeeper(deps as unknown as KeeperDeps);
  return { clock, keeper, ids, asked: () => asked };
}

test('results are looked through a second after a build, and once a minute for however many builds', async () => {
  const { clock, keeper, ids, asked } = kept([ALL]);
  ids.add('a');
  keeper.collectSoon();
  keeper.collectSoon();
  await clock.advance(limits.buildCollectDelayMs - 1);
  expect([...ids]).toEqual(['a']);
  await clock.advance(1);
  await keeper[Symbol.asyncDispose]();
  expect([[...ids], asked()]).toEqual([[], 1]);
  ids.add('b');
  keeper.collectSoon();
  await clock.advance(limits.buildCollectMs - 1);
  expect([...ids]).toEqual(['b']);
  // The last build of a minute is not forgotten.
  await clock.advance(1);
  await keeper[Symbol.asyncDispose]();
  expect([[...ids], asked()]).toEqual([[], 2]);
});

test('nothing goes by itself where that is switched off, and nothing is looked through after the end', async () => {
  const { clock, keeper, ids, asked } = kept(undefined);
  ids.add('a');
  keeper.collectSoon();
  await clock.advance(limits.buildCollectDelayMs);
  await keeper[Symbol.asyncDispose]();
  expect([...ids]).toEqual(['a']);
  keeper.collectSoon();
  await keeper[Symbol.asyncDispose]();
  await clock.advance(limits.buildCollectMs);
  expect(asked()).toBe(1);
});

test('a prune with filters takes what they let through', async () => {
  const { keeper, ids } = kept(undefined);
  ids.add('a').add('b');
  const pruning = { isAll: false, unusedMs: 0, reservedBytes: 0, usedBytesMax: 0, freeBytesMin: 0 };
  expect((await keeper.prune({ ...pruning, filters: ['id==a'] })).map(({ id }) => id)).toEqual(['a']);
  expect(await keeper.prune({ ...pruning, reservedBytes: 1, filters: [] })).toEqual([]);
  expect((await keeper.prune({ ...pruning, filters: [] })).map(({ id }) => id)).toEqual(['b']);
});
