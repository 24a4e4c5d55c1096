import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { Fingerprint } from '../../../../swarm/store/cache/fingerprint.ts';
import { StoreCache } from '../../../../swarm/store/cache/store-cache.ts';
import { ScriptedFaults } from '../../../../swarm/store/memory/faults.ts';
import { History } from '../../../../swarm/store/memory/history.ts';
import { MemoryCluster } from '../../../../swarm/store/memory/memory-cluster.ts';
import { MemoryStore } from '../../../../swarm/store/memory/memory-store.ts';
import type { Change, Entry, Store, Write } from '../../../../swarm/store/port.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';
import { failureOf, put, textOf } from '../../../support/swarm/stores.ts';

let clock: ManualClock;
let cluster: MemoryCluster;
let faults: ScriptedFaults;
let store: MemoryStore;
let told: string[];
let opened: StoreCache<Buffer>[];
let reads: number;

beforeEach(() => {
  clock = new ManualClock();
  cluster = new MemoryCluster(clock);
  faults = new ScriptedFaults();
  store = new MemoryStore({ clock, cluster, faults: faults.next });
  told = [];
  opened = [];
  reads = 0;
});

afterEach(async () => {
  for (const cache of opened) {
    await cache[Symbol.asyncDispose]();
  }
});

function countedRead({ value }: Entry): Buffer {
  reads += 1;
  return value;
}

async function open(from: Store = store): Promise<StoreCache<Buffer>> {
  const deps = { clock, logger: silentLogger, store: from, read: countedRead };
  const cache = await StoreCache.open(deps, (changes) => {
    told.push(...changes.map(textOf));
  });
  opened.push(cache);
  return cache;
}

function write(...writes: Write[]): Promise<number> {
  return store.commit({ conditions: [], writes });
}

function contents(cache: StoreCache<Buffer>): string[] {
  return [...cache.entries()].map((entry) => textOf({ kind: 'put', entry })).toSorted();
}

test('cache: what was there is told, then what changes, and a writer reads what it wrote', async () => {
  await write(put('a', 'one'), put('b', 'one'));
  const cache = await open();
  expect([cache.revision, contents(cache)]).toEqual([2, ['a one 2 2', 'b one 2 2']]);
  const revision = await write(put('a', 'two'), { kind: 'delete', key: 'b' });
  await cache.reached(revision);
  expect(contents(cache)).toEqual(['a two 3 2']);
  expect(told).toEqual(['a one 2 2', 'b one 2 2', 'a two 3 2', 'b deleted 3']);
  expect(cache.get('a')?.value.toString()).toBe('two');
});

test('cache: a writer waits for its revision as long as a call may take', async () => {
  const cache = await open();
  faults.add('watch', { kind: 'delay', ms: 100 });
  const seen = write(put('a', 'one')).then((revision) => cache.reached(revision));
  await clock.advance(100);
  await seen;
  const late = failureOf(cache.reached(99));
  await clock.advance(limits.swarmStoreCallMs);
  expect((await late).failure).toBe('unavailable');
  const closed = failureOf(cache.reached(99));
  await cache[Symbol.asyncDispose]();
  expect((await closed).failure).toBe('canceled');
});

test('cache: a store that does not answer is asked until it does', async () => {
  await write(put('a', 'one'));
  faults.add('view', { kind: 'unavailable' });
  faults.add('view', { kind: 'unavailable' });
  const opening = open();
  await settled();
  await clock.advance(limits.swarmStoreRetryMs * 3);
  expect(contents(await opening)).toEqual(['a one 2 2']);
});

test('cache: what was forgotten while it was away is listed anew, and told as differences', async () => {
  await write(put('a', 'one'), put('b', 'one'), put('c', 'one'));
  const cache = await open();
  told = [];
  faults.add('watch', { kind: 'delay', ms: 1000 });
  await write(put('a', 'two'), put('d', 'one'));
  const revision = await write({ kind: 'delete', key: 'b' }, put('a', 'three'));
  await store.compact(revision);
  reads = 0;
  await clock.advance(1000);
  expect(told).toEqual(['a three 4 2', 'd one 3 3', 'b deleted 4']);
  // What is as it was is not read again.
  expect(reads).toBe(2);
  expect([cache.relists, cache.revision]).toEqual([1, revision]);
  await write(put('e', 'one'));
  await settled();
  expect(told.at(-1)).toBe('e one 5 5');
});

test('cache: a store that goes back takes the cache with it', async () => {
  await write(put('a', 'one'));
  await write(put('a', 'two'), put('b', 'two'));
  const cache = await open();
  await write(put('a', 'three'));
  await settled();
  told = [];
  const backup = new History();
  backup.apply([{ kind: 'put', key: 'a', value: Buffer.from('one') }]);
  cluster.restore(backup);
  await settled();
  expect([cache.revision, contents(cache), told]).toEqual([2, ['a one 2 2'], ['a one 2 2', 'b deleted 2']]);
});

test('cache: a store that goes back to another value of the same revision is read anew', async () => {
  await write(put('a', 'one'), put('b', 'one'));
  const cache = await open();
  await write(put('c', 'two'));
  await settled();
  const backup = new History();
  backup.apply([
    { kind: 'put', key: 'a', value: Buffer.from('other') },
    { kind: 'put', key: 'b', value: Buffer.from('one') },
  ]);
  cluster.restore(backup);
  await settled();
  expect(contents(cache)).toEqual(['a other 2 2', 'b one 2 2']);
});

test('audit: a cache that is right is left alone, also while it changes', async () => {
  const cache = await open();
  await write(put('a', 'one'), put('b', 'one'));
  const audit = cache.audit();
  await write(put('a', 'two'));
  expect([await audit, cache.differences, cache.relists]).toEqual([true, 0, 0]);
});

test('audit: a change that was never told is found, counted and mended', async () => {
  const cache = await open(
    dropping((changes) => changes.filter((change) => !textOf(change).startsWith('b '))),
  );
  await write(put('a', 'one'), put('b', 'one'));
  await settled();
  expect(contents(cache)).toEqual(['a one 2 2']);
  expect(await cache.audit()).toBe(false);
  expect([cache.differences, contents(cache)]).toEqual([1, ['a one 2 2', 'b one 2 2']]);
  expect(await cache.audit()).toBe(true);
});

test('audit: a watch that has fallen silent is found by the clock', async () => {
  const cache = await open(dropping(() => undefined));
  await write(put('a', 'one'));
  await clock.advance(5 * 60_000);
  await clock.advance(limits.swarmStoreCallMs);
  expect([cache.differences, contents(cache)]).toEqual([1, ['a one 2 2']]);
});

test('fingerprint: order does not matter, keys, revisions and their pairs do', () => {
  const base = of(['a', 1], ['b', 2]);
  expect(of(['b', 2], ['a', 1])).toBe(base);
  const different = [
    of(['a', 2], ['b', 1]),
    of(['a', 1], ['b', 3]),
    of(['a', 1]),
    of(['a', 1], ['c', 2]),
    of(['a', 1], ['b', 2 ** 32 + 2]),
  ];
  expect(new Set([base, ...different]).size).toBe(different.length + 1);
});

function of(...entries: [string, number][]): string {
  return new Fingerprint().add(entries.map(([key, revision]) => ({ key, revision }))).toString();
}

/** The store, with watches that tell only what is left of each call; undefined = nothing at all. */
function dropping(left: (changes: readonly Change[]) => readonly Change[] | undefined): Store {
  return {
    view: (prefix, options) => store.view(prefix, options),
    commit: (commit) => store.commit(commit),
    elect: (candidate) => store.elect(candidate),
    compact: (revision) => store.compact(revision),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    watch: (prefix, from, listener) =>
      store.watch(prefix, from, {
        onRelist: (reason) => listener.onRelist(reason),
        onChanges: (changes, revision) => {
          const passed = left(changes);
          if (passed !== undefined) {
            listener.onChanges(passed, revision);
          }
        },
      }),
  };
}
