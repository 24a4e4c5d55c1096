import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../../daemon/base/clock.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import type { Store } from '../../../../swarm/store/port.ts';
import { ScriptedFaults } from '../../../../swarm/store/memory/faults.ts';
import { History } from '../../../../swarm/store/memory/history.ts';
import { MemoryCluster } from '../../../../swarm/store/memory/memory-cluster.ts';
import { MemoryStore } from '../../../../swarm/store/memory/memory-store.ts';
import { storeContract } from '../../../contract/swarm/store-contract.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';
import { failureOf, put, Told } from '../../../support/swarm/stores.ts';

let cluster: MemoryCluster;
let faultsOf: Map<Store, ScriptedFaults>;

beforeEach(() => {
  cluster = new MemoryCluster(systemClock);
  faultsOf = new Map();
});

afterEach(async () => {
  for (const store of faultsOf.keys()) {
    await store[Symbol.asyncDispose]();
  }
});

storeContract('memory', () => ({
  ttlMs: 90,
  open: async (clock = systemClock) => {
    const faults = new ScriptedFaults();
    const store = new MemoryStore({ clock, cluster, faults: faults.next });
    faultsOf.set(store, faults);
    return store;
  },
  loseNextAnswer: (store) => faultsOf.get(store)?.add('commit', { kind: 'lost answer' }),
  interrupt: async () => {
    for (const faults of faultsOf.values()) {
      faults.add('commit', { kind: 'unavailable' });
      faults.add('commit', { kind: 'lost answer' });
      faults.add('watch', { kind: 'unavailable' });
    }
  },
}));

test('memory: a fault is each time the next of its kind, and a delay takes the time of the clock', async () => {
  const clock = new ManualClock();
  const faults = new ScriptedFaults();
  const store = new MemoryStore({ clock, cluster: new MemoryCluster(clock), faults: faults.next });
  const write = { conditions: [], writes: [put('a', 'x')] };
  faults.add('commit', { kind: 'conflict' });
  faults.add('commit', { kind: 'unavailable' });
  faults.add('commit', { kind: 'delay', ms: 100 });
  faults.add('commit', { kind: 'delay', ms: limits.swarmStoreCallMs });
  expect((await failureOf(store.commit(write))).failure).toBe('conflict');
  expect((await failureOf(store.commit(write))).failure).toBe('unavailable');
  const delayed = store.commit(write);
  await clock.advance(100);
  expect(await delayed).toBe(2);
  const lost = failureOf(store.commit(write));
  await clock.advance(limits.swarmStoreCallMs);
  expect((await lost).failure).toBe('unknown');
  expect(await store.commit(write)).toBe(4);
});

test('memory: a store that goes back to an earlier state tells its watches to relist', async () => {
  const clock = new ManualClock();
  const went = new MemoryCluster(clock);
  const store = new MemoryStore({ clock, cluster: went });
  await store.commit({ conditions: [], writes: [put('a', 'x')] });
  await store.commit({ conditions: [], writes: [put('a', 'y')] });
  const told = new Told();
  using _watch = store.watch('', 4, told);
  await settled();
  went.restore(new History());
  await settled();
  expect(told.relist).toBe('went back');
});
