import { describe, expect, it, test } from 'vitest';
import { defaultRules, toCollect, type KeptRecord } from '../../../../daemon/build/cache/collect.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;
const HOUR = 3_600_000;
const NOW = 10_000 * HOUR;

const record = (id: string, unusedHours: number, more: Partial<KeptRecord> = {}): KeptRecord => ({
  id,
  type: 'regular',
  bytes: 10 * GIB,
  isInUse: false,
  isShared: false,
  lastUsedMs: NOW - unusedHours * HOUR,
  ...more,
});

const cache = (id: string, unusedHours: number, mib: number): KeptRecord =>
  record(id, unusedHours, { type: 'exec.cachemount', bytes: mib * MIB });

/** On a disk of 100 GiB: 10 are reserved, 80 may be used, 20 are to be free. */
function collected(freeGib: number, records: readonly KeptRecord[]): string[] {
  const disk = { totalBytes: 100 * GIB, freeBytes: freeGib * GIB };
  return toCollect(records, defaultRules(disk), { now: NOW, disk });
}

describe('the default rules', () => {
  it('keep everything that fits', () => {
    expect(collected(50, [record('old', 9000), record('new', 0)])).toEqual([]);
  });

  it('take caches of mounts unused for two days once they are more than 13.8 % of what is reserved', () => {
    expect(collected(50, [cache('a', 49, 700), cache('b', 60, 700)])).toEqual([]);
    expect(collected(50, [cache('a', 49, 700), cache('b', 60, 700), cache('c', 47, 100)])).toEqual(['b']);
    expect(collected(50, [cache('a', 47, 700), cache('b', 47, 1700)])).toEqual([]);
  });

  it('take what was unused for longest until enough is free', () => {
    const records = [record('a', 1), record('b', 3), record('c', 2), record('old', 61 * 24)];
    expect(collected(15, records)).toEqual(['old']);
    expect(collected(5, records)).toEqual(['old', 'b']);
  });

  it('leave what is reserved alone, however full the disk is', () => {
    expect(collected(0, [record('a', 1), record('b', 3)])).toEqual(['b']);
  });

  it('take what is beyond 80 % of the disk', () => {
    const records = Array.from({ length: 9 }, (_, index) => record(`r${index}`, index));
    expect(collected(90, records)).toEqual(['r8']);
  });

  it('never take what a build holds, and count it', () => {
    expect(collected(5, [record('held', 99, { isInUse: true }), record('a', 1), record('b', 2)])).toEqual([
      'b',
      'a',
    ]);
  });

  it('take internal records last', () => {
    const records = [record('inner', 99, { type: 'internal' }), record('a', 1), record('b', 2)];
    expect(collected(15, records)).toEqual(['b']);
    expect(collected(0, [record('inner', 99, { type: 'internal' }), record('a', 1)])).toEqual(['inner']);
  });

  it('take no more than they must (500 seeds)', () => {
    for (let seed = 1; seed <= 500; seed += 1) {
      const random = new SeededRandom(seed);
      const records = Array.from({ length: random.below(12) }, (_, index) =>
        record(`r${index}`, random.below(3000), {
          bytes: (1 + random.below(20)) * GIB,
          isInUse: random.below(4) === 0,
        }),
      );
      const freeGib = random.below(60);
      const taken = collected(freeGib, records);
      const bytesOf = (ids: readonly string[]): number =>
        records.filter(({ id }) => ids.includes(id)).reduce((total, { bytes }) => total + bytes, 0) / GIB;
      const used = bytesOf(records.map(({ id }) => id));
      const isEnough = (gone: number): boolean =>
        used - gone <= 10 || (used - gone <= 80 && freeGib + gone >= 20);
      const free = records.filter(({ isInUse }) => !isInUse).map(({ id }) => id);
      expect(
        taken.filter((id) => !free.includes(id)),
        `seed ${seed}`,
      ).toEqual([]);
      expect(isEnough(bytesOf(taken)) || taken.length === free.length, `seed ${seed}`).toBe(true);
      // Without the last one it would not have been enough.
      expect(taken.length === 0 || !isEnough(bytesOf(taken.slice(0, -1))), `seed ${seed}`).toBe(true);
    }
  });
});

test('where nothing may stay, what has no size goes, too', () => {
  const disk = { totalBytes: 100 * GIB, freeBytes: 50 * GIB };
  const all = { takesInternal: true, unusedMs: 0, reservedBytes: 0, usedBytesMax: 0, freeBytesMin: 0 };
  const empty = [record('a', 1, { bytes: 0 }), record('b', 2, { bytes: 0 })];
  expect(toCollect(empty, [all], { now: NOW, disk })).toEqual(['b', 'a']);
});
