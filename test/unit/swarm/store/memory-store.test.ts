import { afterEach, beforeEach, expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import type { Store } from '../../../../swarm/store/port.ts';
import { ScriptedFaults } from '../../../../swarm/store/memory/faults.ts';
import { History } from '../../../../swarm/store/memory/history.ts';
import { MemoryCluster } from '../../../../swarm/store/memory/memory-cluster.ts';
import { MemoryStore } from '../../../../swarm/store/memory/memory-store.ts';
import { storeContract } from '../../../contract/swarm/store-contract.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';
import { failureOf, put, Told } from '../../../support/swarm/stores.ts';

/** Time that never passes faster than what it sets off is done: a stall of the machine is none of its own. */
const STEP_MS = 5;

let clock: ManualClock;
let cluster: MemoryCluster;
let faultsOf: Map<Store, ScriptedFaults>;
let passing: { over: boolean; ended: Promise<void> };

beforeEach(() => {
  clock = new ManualClock();
  cluster = new MemoryCluster(clock);
  faultsOf = new Map();
  passing = { over: false, ended: Promise.resolve() };
  passing.ended = (async () => {
    while (!passing.over) {
      await clock.advance(STEP_MS);
    }
  })();
});

afterEach(async () => {
  for (const store of faultsOf.keys()) {
    await store[Symbol.asyncDispose]();
  }
  passing.over = true;
  await passing.ended;
});

storeContract('memory', () => ({
  clock,
  pass: (ms) =>
    new Promise((resolve) => {
      clock.setTimeout(resolve, ms);
    }),
  ttlMs: 2_000,
  open: async (own = clock) => {
    const faults = new ScriptedFaults();
    const store = new MemoryStore({ clock: own, cluster, faults: faults.next });
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
  const manual = new ManualClock();
  const faults = new ScriptedFaults();
  const store = new MemoryStore({ clock: manual, cluster: new MemoryCluster(manual), faults: faults.next });
  const write = { conditions: [], writes: [put('a', 'x')] };
  faults.add('commit', { kind: 'conflict' });
  faults.add('commit', { kind: 'unavailable' });
  faults.add('commit', { kind: 'delay', ms: 100 });
  faults.add('commit', { kind: 'delay', ms: limits.swarmStoreCallMs });
  expect((await failureOf(store.commit(write))).failure).toBe('conflict');
  expect((await failureOf(store.commit(write))).failure).toBe('unavailable');
  const delayed = store.commit(write);
  await manual.advance(100);
  expect(await delayed).toBe(2);
  const lost = failureOf(store.commit(write));
  await manual.advance(limits.swarmStoreCallMs);
  expect((await lost).failure).toBe('unknown');
  expect(await store.commit(write)).toBe(4);
});

test('memory: a store that goes back to an earlier state tells its watches to relist', async () => {
  const manual = new ManualClock();
  const went = new MemoryCluster(manual);
  const store = new MemoryStore({ clock: manual, cluster: went });
  await store.commit({ conditions: [], writes: [put('a', 'x')] });
  await store.commit({ conditions: [], writes: [put('a', 'y')] });
  const told = new Told();
  using _watch = store.watch('', 4, told);
  await settled();
  went.restore(new History());
  await settled();
  expect(told.relist).toBe('went back');
});

test('elect: a leader whose store takes more than a third of the life for each answer stays one', async () => {
  const manual = new ManualClock();
  const faults = new ScriptedFaults();
  const store = new MemoryStore({ clock: manual, cluster: new MemoryCluster(manual), faults: faults.next });
  const leadership = await store.elect({ key: 'leader', value: Buffer.from('x'), ttlMs: 900 });
  let lost: string | undefined;
  void leadership.lost.then((reason) => {
    lost = reason;
    return undefined;
  });
  for (let call = 0; call < 30; call += 1) {
    faults.add('keepAlive', { kind: 'delay', ms: 500 });
  }
  await manual.advance(9_000);
  expect(lost).toBeUndefined();
  await leadership.resign();
});

test('elect: a leader that is cut off gives up when its lease ends, though a call still waits', async () => {
  const manual = new ManualClock();
  const shared = new MemoryCluster(manual);
  const faults = new ScriptedFaults();
  const store = new MemoryStore({ clock: manual, cluster: shared, faults: faults.next });
  const leadership = await store.elect({ key: 'leader', value: Buffer.from('x'), ttlMs: 900 });
  let lost: string | undefined;
  void leadership.lost.then((reason) => {
    lost = reason;
    return undefined;
  });
  faults.add('keepAlive', { kind: 'unavailable' });
  for (let call = 0; call < 5; call += 1) {
    faults.add('keepAlive', { kind: 'delay', ms: limits.swarmStoreCallMs });
  }
  await manual.advance(890);
  expect(lost).toBeUndefined();
  await manual.advance(10);
  expect(lost).toBe('the store was not reached for the life of the lease');
});
