import { expect, test } from 'vitest';
import { pruningOf, recordTest } from '../../../../daemon/build/cache/filters.ts';
import type { UsageRecord } from '../../../../daemon/build/ports.ts';

const RECORD: UsageRecord = {
  id: 'abcdef',
  type: 'regular',
  parents: ['below'],
  bytes: 1,
  createdMs: 0,
  usageCount: 1,
  description: '[2/3] RUN make',
  inUse: false,
  isShared: true,
  isMutable: false,
};

test.each([
  [[], true],
  [['type==regular'], true],
  [['type=regular'], true],
  [['type!=regular'], false],
  [['type==source.local', 'type==regular'], true],
  [['type==regular,private'], false],
  [['type==regular,shared'], true],
  [['shared==false'], false],
  [['mutable'], false],
  [['immutable'], true],
  [['id~=bcd'], true],
  [['id==bcd'], false],
  [['parent==below'], true],
  [['description~="RUN make"'], true],
  [['inuse!=true'], true],
] as [string[], boolean][])('%j', (filters, passes) => {
  expect(recordTest(filters)(RECORD)).toBe(passes);
});

test('an empty filter, as newer clients send, means all', () => {
  expect(recordTest([''])(RECORD)).toBe(true);
});

test.each(['unknown==x', 'id', 'type', 'shared,'])('%j is refused', (filter) => {
  expect(() => recordTest([filter])).toThrow('invalid filter');
});

test('filters of a prune: each has values of which one is enough', () => {
  const pruning = pruningOf(
    new Map([
      ['type', ['regular', 'exec.cachemount']],
      ['id', ['ab']],
      ['shared', ['']],
      ['until', ['1h']],
    ]),
    7_200_000_000_000n,
  );
  expect(pruning).toEqual({
    unusedMs: 3_600_000,
    filters: ['type==regular,id~=ab,shared', 'type==exec.cachemount,id~=ab,shared'],
  });
  expect(pruningOf(new Map(), 0n)).toEqual({ unusedMs: 0, filters: [] });
  expect(() => pruningOf(new Map([['label', ['a']]]), 0n)).toThrow("invalid filter 'label'");
});
