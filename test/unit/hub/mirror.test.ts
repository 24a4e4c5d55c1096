import { expect, onTestFinished, test } from 'vitest';
import { conflict } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { LocalRecords } from '../../../daemon/hub/records/local-records.ts';
import { Mirror } from '../../../daemon/hub/records/mirror.ts';
import type { RecordListener, Records } from '../../../daemon/hub/records/port.ts';
import { openDatabase } from '../../../storage/database/index.ts';
import { ManualClock, settled } from '../../support/fakes/manual-clock.ts';

/** Records that can be made late, deaf and unreadable. */
function rig() {
  const database = openDatabase(':memory:', silentLogger);
  onTestFinished(() => database.close());
  const records = new LocalRecords(database);
  const clock = new ManualClock();
  const state = { isUnreadable: false, listeners: [] as RecordListener[] };
  const port: Records = {
    get: (key) => records.get(key),
    update: (changes) => records.update(changes),
    list: (prefix, options) =>
      state.isUnreadable ? Promise.reject(new Error('away')) : records.list(prefix, { ...options, limit: 2 }),
    watch: (prefix, from, listener) => {
      state.listeners.push(listener);
      return records.watch(prefix, from, listener);
    },
  };
  return { records, clock, state, deps: { records: port, clock, log: silentLogger } };
}

test('it tells what is put below a prefix from then on', async () => {
  const { records, deps } = rig();
  await records.update([{ kind: 'put', key: 'push/1', value: 'before' }]);
  const mirror = await Mirror.open(deps, '');
  const told: unknown[] = [];
  mirror.follow('push/', (value) => told.push(value));
  await records.update([
    { kind: 'put', key: 'push/1', value: 'again' },
    { kind: 'put', key: 'other/1', value: 'not this' },
  ]);
  await records.update([{ kind: 'delete', key: 'push/1' }]);
  expect(told).toEqual(['again']);
});

test('it knows all pages at its start, and what others change', async () => {
  const { records, deps } = rig();
  await records.update(['a', 'b', 'c', 'd', 'e'].map((key) => ({ kind: 'put', key, value: key })));
  const mirror = await Mirror.open(deps, '');
  expect([...mirror.below('')].map(({ value }) => value)).toEqual(['a', 'b', 'c', 'd', 'e']);
  await records.update([
    { kind: 'put', key: 'a', value: 'A' },
    { kind: 'delete', key: 'b' },
  ]);
  expect([mirror.get('a')?.value, mirror.get('b')]).toEqual(['A', undefined]);
});

test('what was changed is known when the change has answered', async () => {
  const { deps } = rig();
  const mirror = await Mirror.open(deps, '');
  await mirror.change(() => ({ changes: [{ kind: 'put', key: 'a', value: 1 }], answer: undefined }));
  expect(mirror.get('a')?.value).toBe(1);
});

test('a change is decided anew when somebody else was faster, and given up after some attempts', async () => {
  const { records, deps } = rig();
  const mirror = await Mirror.open(deps, '');
  let decisions = 0;
  const answer = await mirror.change(() => {
    decisions += 1;
    if (decisions === 1) {
      void records.update([{ kind: 'put', key: 'a', value: 'theirs' }]);
      return { changes: [{ kind: 'put', key: 'a', value: 'mine', expected: 0 }], answer: 'first' };
    }
    return {
      changes: [{ kind: 'check', key: 'a', expected: mirror.get('a')?.revision ?? 0 }],
      answer: 'second',
    };
  });
  expect([decisions, answer]).toEqual([2, 'second']);

  let attempts = 0;
  const always = mirror.change(() => {
    attempts += 1;
    void records.update([{ kind: 'put', key: 'a', value: attempts }]);
    return { changes: [{ kind: 'check', key: 'a', expected: 1 }], answer: undefined };
  });
  await expect(always).rejects.toMatchObject({ code: 'conflict' });
  expect(attempts).toBe(limits.hubUpdateAttempts);
});

test("a refusal of the decision is nobody else's conflict", async () => {
  const { deps } = rig();
  const mirror = await Mirror.open(deps, '');
  let decisions = 0;
  const refused = mirror.change(() => {
    decisions += 1;
    throw conflict('no');
  });
  await expect(refused).rejects.toThrow('no');
  expect(decisions).toBe(1);
});

test('told to list again it does, and until it can it answers what it knew', async () => {
  const { records, clock, state, deps } = rig();
  await records.update([{ kind: 'put', key: 'a', value: 1 }]);
  const mirror = await Mirror.open(deps, '');
  state.isUnreadable = true;
  state.listeners[0]?.onRelist();
  await settled();
  expect(mirror.get('a')?.value).toBe(1);
  state.isUnreadable = false;
  await records.update([{ kind: 'delete', key: 'a' }]);
  await clock.advance(limits.hubRelistMs);
  expect(mirror.get('a')).toBeUndefined();
  mirror[Symbol.dispose]();
});
