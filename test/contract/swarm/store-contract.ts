import { expect, test } from 'vitest';
import type { Clock } from '../../../daemon/base/clock.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { StoreError } from '../../../swarm/store/errors.ts';
import { StoreCache } from '../../../swarm/store/cache/store-cache.ts';
import type { Entry, Page, Store, Write } from '../../../swarm/store/port.ts';
import { FreezableClock } from '../../support/swarm/freezable-clock.ts';
import { failureOf, only, persistent, put, Told } from '../../support/swarm/stores.ts';

/** A store in some state, with several managers at it. Each test gets a prefix of its own. */
export interface StoreRig {
  /** The time of the store and of all managers. */
  clock: Clock;
  /** Lets time pass. */
  pass(ms: number): Promise<void>;
  /** The shortest life of a lease. */
  ttlMs: number;
  /** One manager's way to the store; closed by the rig. */
  open(clock?: Clock): Promise<Store>;
  /** The next commit of this store is done, and its answer does not come. */
  loseNextAnswer(store: Store): void;
  /** kill -9 of what serves the store, and back again. */
  interrupt(): Promise<void>;
}

const CACHE_KEYS = 40;
const CACHE_TURNS = 60;

let tests = 0;

/** What every implementation of `Store` does. */
export function storeContract(name: string, rig: () => StoreRig): void {
  viewContract(name, rig);
  commitContract(name, rig);
  watchContract(name, rig);
  electContract(name, rig);
  cacheContract(name, rig);
}

function viewContract(name: string, rig: () => StoreRig): void {
  test(`${name}: view: all pages show one revision, sorted, whatever is written meanwhile`, async () => {
    const store = await rig().open();
    const prefix = fresh();
    const count = limits.swarmStorePageKeys + 100;
    const keys = Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(5, '0')}`);
    for (let first = 0; first < count; first += 100) {
      await store.commit({
        conditions: [],
        writes: keys.slice(first, first + 100).map((key) => put(key, 'x')),
      });
    }
    const seen: string[] = [];
    const revisions = new Set<number>();
    for await (const page of store.view(prefix, { keysOnly: true })) {
      revisions.add(page.revision);
      seen.push(...page.entries.map(({ key, value }) => `${key}${value.toString()}`));
      await store.commit({ conditions: [], writes: [put(`${prefix}99999`, 'late')] });
    }
    expect(seen).toEqual(keys);
    expect(revisions.size).toBe(1);
  });

  test(`${name}: view: an old revision shows what was there then, an empty prefix is one page`, async () => {
    const store = await rig().open();
    const prefix = fresh();
    const first = await store.commit({ conditions: [], writes: [put(`${prefix}a`, 'one')] });
    const second = await store.commit({
      conditions: [],
      writes: [put(`${prefix}a`, 'two'), put(`${prefix}b`, '')],
    });
    expect(await texts(store, prefix, first)).toEqual({ a: `one ${first} ${first}` });
    expect(await texts(store, prefix)).toEqual({ a: `two ${second} ${first}`, b: ` ${second} ${second}` });
    const pages: Page[] = [];
    for await (const page of store.view(`${prefix}nothing`)) {
      pages.push(page);
    }
    expect(pages).toEqual([{ revision: second, entries: [] }]);
  });
}

function commitContract(name: string, rig: () => StoreRig): void {
  test(`${name}: commit: a key that is not as required refuses everything, and is named`, async () => {
    const store = await rig().open();
    const prefix = fresh();
    const made = await store.commit({
      conditions: [{ key: `${prefix}a`, revision: 0 }],
      writes: [put(`${prefix}a`, 'one'), put(`${prefix}b`, 'one')],
    });
    const changed = await store.commit({
      conditions: [{ key: `${prefix}a`, revision: made }],
      writes: [put(`${prefix}a`, 'two')],
    });
    const failure = await failureOf(
      store.commit({
        conditions: [
          { key: `${prefix}a`, revision: made },
          { key: `${prefix}b`, revision: made },
          { key: `${prefix}c`, revision: made },
        ],
        writes: [put(`${prefix}b`, 'three'), put(`${prefix}d`, 'three')],
      }),
    );
    expect([failure.failure, failure.code, failure.changed]).toEqual([
      'conflict',
      'conflict',
      [`${prefix}a`, `${prefix}c`],
    ]);
    expect(await texts(store, prefix)).toEqual({ a: `two ${changed} ${made}`, b: `one ${made} ${made}` });
  });

  test(`${name}: commit: a deletion takes the key, what is made again is a new one`, async () => {
    const store = await rig().open();
    const prefix = fresh();
    const key = `${prefix}a`;
    const made = await store.commit({ conditions: [], writes: [put(key, 'one')] });
    const deleted = await store.commit({
      conditions: [{ key, revision: made }],
      writes: [{ kind: 'delete', key }],
    });
    expect(deleted).toBe(made + 1);
    const nothing = await store.commit({ conditions: [], writes: [{ kind: 'delete', key }] });
    expect(nothing).toBe(deleted);
    const again = await store.commit({ conditions: [{ key, revision: 0 }], writes: [put(key, 'two')] });
    expect(await texts(store, prefix)).toEqual({ a: `two ${again} ${again}` });
  });

  test(`${name}: commit: what no transaction takes is refused before it is sent`, async () => {
    const store = await rig().open();
    const prefix = fresh();
    const many = Array.from({ length: limits.swarmStoreCommitOperationsMax }, (_, n) => `${prefix}${n}`);
    const writes = many.map((key) => put(key, 'x'));
    const full = { conditions: many.map((key) => ({ key, revision: 0 })), writes };
    await store.commit(full);
    const refused: Parameters<Store['commit']>[0][] = [
      { conditions: [], writes: [put(`${prefix}a`, 'one'), put(`${prefix}a`, 'two')] },
      { conditions: [], writes: [put(`${prefix}a`, 'one'), { kind: 'delete', key: `${prefix}a` }] },
      { conditions: [], writes: [...writes, put(`${prefix}a`, 'one')] },
      { ...full, fence: { key: `${prefix}lease`, created: 1 } },
      { conditions: [], writes: [put(`${prefix}a`, 'x'.repeat(limits.swarmStoreCommitBytesMax))] },
    ];
    for (const commit of refused) {
      expect((await failureOf(store.commit(commit))).failure).toBe('refused');
    }
    // What a config may hold.
    await store.commit({ conditions: [], writes: [put(`${prefix}a`, 'x'.repeat(1_024_028))] });
  });

  test(`${name}: commit: writers that decide again on each conflict lose no change`, async () => {
    const stores = [await rig().open(), await rig().open(), await rig().open()];
    const key = `${fresh()}counter`;
    await stores[0]!.commit({ conditions: [], writes: [put(key, '0')] });
    await Promise.all(
      stores.map(async (store) => {
        for (let turn = 0; turn < 10; turn += 1) {
          await increment(store, key);
        }
      }),
    );
    expect((await only(stores[0]!, key))?.value.toString()).toBe('30');
  });

  test(`${name}: commit: an answer that was lost is told as such, and what was written stands`, async () => {
    const store = await rig().open();
    const prefix = fresh();
    await store.commit({ conditions: [], writes: [put(`${prefix}a`, 'one')] });
    rig().loseNextAnswer(store);
    const failure = await failureOf(store.commit({ conditions: [], writes: [put(`${prefix}a`, 'two')] }));
    expect([failure.failure, failure.code]).toEqual(['unknown', 'deadline_exceeded']);
    await expect.poll(async () => (await only(store, `${prefix}a`))?.value.toString()).toBe('two');
  });
}

function watchContract(name: string, rig: () => StoreRig): void {
  test(`${name}: watch: tells all changes below its prefix from its revision on, one call a revision`, async () => {
    const store = await rig().open();
    const prefix = fresh();
    const writes = (text: string): Write[] => [put(`${prefix}a`, text), put(`${prefix}b`, text)];
    const first = await store.commit({ conditions: [], writes: writes('one') });
    const second = await store.commit({ conditions: [], writes: writes('two') });
    const told = new Told();
    using _watch = store.watch(prefix, first + 1, told);
    await told.until(second);
    const elsewhere = await store.commit({ conditions: [], writes: [put(`${fresh()}a`, 'elsewhere')] });
    const third = await store.commit({
      conditions: [],
      writes: [{ kind: 'delete', key: `${prefix}a` }, put(`${prefix}b`, 'three')],
    });
    await told.until(third);
    expect(elsewhere).toBe(second + 1);
    expect(told.calls.map(({ text }) => text.toSorted())).toEqual([
      [`${prefix}a two ${second} ${first}`, `${prefix}b two ${second} ${first}`],
      [`${prefix}a deleted ${third}`, `${prefix}b three ${third} ${first}`],
    ]);
    expect(told.calls.map(({ revision }) => revision)).toEqual([second, third]);
  });

  test(`${name}: compact: what is forgotten is neither shown nor told, the rest is`, async () => {
    const store = await rig().open();
    const prefix = fresh();
    const revisions: number[] = [];
    for (const text of ['one', 'two', 'three', 'four']) {
      revisions.push(await store.commit({ conditions: [], writes: [put(`${prefix}a`, text)] }));
    }
    const [first = 0, , third = 0, fourth = 0] = revisions;
    await store.compact(third);
    await store.compact(first);
    const late = new Told();
    using _late = store.watch(prefix, first + 1, late);
    await expect.poll(() => late.relist).toBe('compacted');
    expect((await failureOf(texts(store, prefix, first))).failure).toBe('compacted');
    expect(await texts(store, prefix, third)).toEqual({ a: `three ${third} ${first}` });
    const inTime = new Told();
    using _inTime = store.watch(prefix, third + 1, inTime);
    await inTime.until(fourth);
    expect(inTime.calls.flatMap(({ text }) => text)).toEqual([`${prefix}a four ${fourth} ${first}`]);
    expect(late.calls).toEqual([]);
  });

  test(`${name}: watch: kill -9 of the store in the middle neither doubles nor drops a change`, async () => {
    const store = await rig().open();
    const other = await rig().open();
    const prefix = fresh();
    const told = new Told();
    const start = await store.commit({ conditions: [], writes: [put(`${prefix}n`, '0')] });
    using _watch = other.watch(prefix, start + 1, told);
    const interruption = { over: false };
    const interrupted = rig()
      .interrupt()
      .finally(() => {
        interruption.over = true;
      });
    const answered = new Set<number>();
    for (let turn = 1; !interruption.over || turn < 50; turn += 1) {
      try {
        answered.add(await store.commit({ conditions: [], writes: [put(`${prefix}n`, String(turn))] }));
      } catch (error) {
        expect(error).toBeInstanceOf(StoreError);
      }
    }
    await interrupted;
    const last = await persistent(() => store.commit({ conditions: [], writes: [put(`${prefix}n`, 'end')] }));
    await told.until(last);
    const revisions = told.calls.map(({ revision }) => revision);
    const every = Array.from({ length: last - start }, (_, index) => start + 1 + index);
    expect(revisions).toEqual(every);
    expect([...answered].every((revision) => revisions.includes(revision))).toBe(true);
    expect(told.relist).toBeUndefined();
  });
}

function electContract(name: string, rig: () => StoreRig): void {
  test(`${name}: elect: one leads until it resigns, and writes no more after`, async () => {
    const [one, two] = [await rig().open(), await rig().open()];
    const prefix = fresh();
    const candidate = { key: `${prefix}leader`, ttlMs: rig().ttlMs };
    const first = await one.elect({ ...candidate, value: Buffer.from('one') });
    const waiting = two.elect({ ...candidate, value: Buffer.from('two') });
    await one.commit({ conditions: [], writes: [put(`${prefix}a`, 'one')], fence: first.fence });
    expect((await only(two, candidate.key))?.value.toString()).toBe('one');
    await first.resign();
    expect(await first.lost).toBe('resigned');
    const second = await waiting;
    const late = await failureOf(
      one.commit({ conditions: [], writes: [put(`${prefix}a`, 'late')], fence: first.fence }),
    );
    expect([late.failure, late.code]).toEqual(['fenced', 'conflict']);
    await two.commit({ conditions: [], writes: [put(`${prefix}a`, 'two')], fence: second.fence });
    expect((await only(one, `${prefix}a`))?.value.toString()).toBe('two');
    await second.resign();
    expect(await only(one, candidate.key)).toBeUndefined();
  });

  test(`${name}: 117: elect: a leader that was frozen writes nothing when it goes on`, async () => {
    const clock = new FreezableClock(rig().clock);
    const [one, two] = [await rig().open(clock), await rig().open()];
    const prefix = fresh();
    const candidate = { key: `${prefix}leader`, ttlMs: rig().ttlMs, value: Buffer.from('x') };
    const first = await one.elect(candidate);
    clock.freeze();
    const second = await two.elect(candidate);
    clock.thaw();
    const late = one.commit({ conditions: [], writes: [put(`${prefix}a`, 'late')], fence: first.fence });
    expect((await failureOf(late)).failure).toBe('fenced');
    expect(await first.lost).toMatch(/lease/);
    await two.commit({ conditions: [], writes: [put(`${prefix}a`, 'two')], fence: second.fence });
    await second.resign();
  });

  test(`${name}: elect: a leader stays one for many lives of its lease`, async () => {
    const store = await rig().open();
    const key = `${fresh()}leader`;
    const leadership = await store.elect({ key, ttlMs: rig().ttlMs, value: Buffer.from('x') });
    await rig().pass(rig().ttlMs * 2);
    expect((await only(store, key))?.created).toBe(leadership.fence.created);
    await leadership.resign();
  });

  test(`${name}: elect: a candidate goes by its signal, or with its store`, async () => {
    const [one, two] = [await rig().open(), await rig().open()];
    const candidate = { key: `${fresh()}leader`, ttlMs: rig().ttlMs, value: Buffer.from('x') };
    const leadership = await one.elect(candidate);
    const abort = new AbortController();
    const bySignal = failureOf(two.elect({ ...candidate, signal: abort.signal }));
    const byStore = failureOf(two.elect(candidate));
    abort.abort();
    expect((await bySignal).code).toBe('canceled');
    await two[Symbol.asyncDispose]();
    expect((await byStore).code).toBe('canceled');
    expect((await failureOf(two.commit({ conditions: [], writes: [] }))).code).toBe('canceled');
    await leadership.resign();
  });
}

function cacheContract(name: string, rig: () => StoreRig): void {
  test(`${name}: cache: two caches end as the store does, whatever happened meanwhile`, async () => {
    const stores = [await rig().open(), await rig().open()];
    const prefix = fresh();
    const opening = stores.map((store) =>
      StoreCache.open({ clock: rig().clock, logger: silentLogger, store, read: ({ value }) => value }),
    );
    const caches = await Promise.all(opening);
    const interrupted = rig().interrupt();
    let last = 0;
    for (let turn = 0; turn < CACHE_TURNS; turn += 1) {
      const store = stores[turn % 2]!;
      const keys = [turn * 7, turn * 11 + 1].map((number) => `${prefix}${number % CACHE_KEYS}`);
      const [first = '', second = ''] = keys;
      const writes: Write[] =
        turn % 5 === 0 ? [{ kind: 'delete', key: first }] : [put(first, String(turn)), put(second, 'x')];
      last = await persistent(() =>
        store.commit({ conditions: [], writes: first === second ? writes.slice(0, 1) : writes }),
      );
    }
    await interrupted;
    for (const [index, cache] of caches.entries()) {
      await cache.reached(last);
      expect(await cache.audit()).toBe(true);
      const cached = [...cache.entries()].filter(({ key }) => key.startsWith(prefix));
      const stored = await texts(stores[index]!, prefix);
      expect(
        Object.fromEntries(cached.map((entry) => [entry.key.slice(prefix.length), summary(entry)])),
      ).toEqual(stored);
      expect([cache.differences, cache.relists]).toEqual([0, 0]);
      await cache[Symbol.asyncDispose]();
    }
  });
}

function fresh(): string {
  tests += 1;
  return `test-${tests}/`;
}

/** Per key below the prefix: value, revision, created. */
async function texts(store: Store, prefix: string, revision?: number): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const page of store.view(prefix, revision === undefined ? {} : { revision })) {
    for (const entry of page.entries) {
      found[entry.key.slice(prefix.length)] = summary(entry);
    }
  }
  return found;
}

function summary({ value, revision, created }: Entry): string {
  return `${value.toString()} ${revision} ${created}`;
}

async function increment(store: Store, key: string): Promise<void> {
  for (;;) {
    const entry = await only(store, key);
    try {
      const next = String(Number(entry?.value.toString()) + 1);
      await store.commit({
        conditions: [{ key, revision: entry?.revision ?? 0 }],
        writes: [put(key, next)],
      });
      return;
    } catch (error) {
      expect(error).toMatchObject({ failure: 'conflict' });
    }
  }
}
