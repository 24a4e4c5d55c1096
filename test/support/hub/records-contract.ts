import { describe, expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import type { RecordEvent, Records } from '../../../daemon/hub/records/port.ts';

/** What `Records` promises, held against one that `make` makes anew for each test. */
export function recordsContract(name: string, make: () => Promise<Records>): void {
  describe(name, () => {
    test('a record is read as it was written, and not once it is deleted', async () => {
      const records = await make();
      expect(await records.get('a/1')).toBeUndefined();
      const revision = await records.update([{ kind: 'put', key: 'a/1', value: { x: [1, 'é', null] } }]);
      expect(await records.get('a/1')).toEqual({ key: 'a/1', value: { x: [1, 'é', null] }, revision });
      await records.update([{ kind: 'delete', key: 'a/1' }]);
      expect(await records.get('a/1')).toBeUndefined();
    });

    test('all changes are made or none: a revision that does not hold refuses them', async () => {
      const records = await make();
      const first = await records.update([{ kind: 'put', key: 'a', value: 1, expected: 0 }]);
      const refused = [
        [{ kind: 'put', key: 'a', value: 2, expected: 0 }],
        [{ kind: 'put', key: 'a', value: 2, expected: first + 1 }],
        [{ kind: 'delete', key: 'a', expected: first + 1 }],
        [
          { kind: 'put', key: 'b', value: 2 },
          { kind: 'check', key: 'a', expected: 0 },
        ],
        [
          { kind: 'put', key: 'b', value: 2 },
          { kind: 'check', key: 'c', expected: first },
        ],
      ] as const;
      for (const changes of refused) {
        await expect(records.update(changes)).rejects.toMatchObject({ code: 'conflict' });
      }
      const { records: all, revision } = await records.list('');
      expect([all, revision]).toEqual([[{ key: 'a', value: 1, revision: first }], first]);
      await records.update([
        { kind: 'put', key: 'b', value: 2, expected: 0 },
        { kind: 'check', key: 'a', expected: first },
      ]);
      expect((await records.get('b'))?.value).toBe(2);
    });

    test('lists are in order of bytes, in pages, and end at their prefix', async () => {
      const records = await make();
      const keys = ['b/', 'b/1', 'b/10', 'b/2', 'b0', 'a/z', 'c'];
      await records.update(keys.map((key) => ({ kind: 'put', key, value: key })));
      const first = await records.list('b/', { limit: 2 });
      const rest = await records.list('b/', { after: first.records.at(-1)?.key ?? '' });
      expect([...first.records, ...rest.records].map(({ key }) => key)).toEqual(['b/1', 'b/10', 'b/2']);
      expect((await records.list('')).records.map(({ key }) => key)).toEqual(keys.toSorted());
      expect((await records.list('d')).records).toEqual([]);
    });

    test('a watch tells what is below its prefix, by update, from a revision that is past on', async () => {
      const records = await make();
      const { revision } = await records.list('');
      await records.update([
        { kind: 'put', key: 'a/1', value: 1 },
        { kind: 'put', key: 'b/1', value: 1 },
      ]);
      const told: (readonly RecordEvent[])[] = [];
      const watch = records.watch('a/', revision + 1, {
        onChanges: (events) => told.push(events),
        onRelist: () => told.push([]),
      });
      await records.update([{ kind: 'put', key: 'b/2', value: 1 }]);
      const last = await records.update([
        { kind: 'delete', key: 'a/1' },
        { kind: 'put', key: 'a/2', value: 2 },
      ]);
      await expect.poll(() => told.length).toBe(2);
      watch[Symbol.dispose]();
      await records.update([{ kind: 'put', key: 'a/3', value: 1 }]);
      expect(told).toEqual([
        [{ kind: 'put', record: { key: 'a/1', value: 1, revision: last - 2 } }],
        [
          { kind: 'delete', key: 'a/1' },
          { kind: 'put', record: { key: 'a/2', value: 2, revision: last } },
        ],
      ]);
    });

    test('a value that is too large is refused, and nothing is written', async () => {
      const records = await make();
      const changes = [
        { kind: 'put', key: 'small', value: 1 },
        { kind: 'put', key: 'large', value: 'x'.repeat(limits.hubRecordBytesMax) },
      ] as const;
      await expect(records.update(changes)).rejects.toMatchObject({ code: 'resource_exhausted' });
      expect((await records.list('')).records).toEqual([]);
    });

    test('what deletes nothing changes nothing', async () => {
      const records = await make();
      const revision = await records.update([{ kind: 'put', key: 'a', value: 1 }]);
      expect(await records.update([{ kind: 'delete', key: 'b' }])).toBe(revision);
    });
  });
}
