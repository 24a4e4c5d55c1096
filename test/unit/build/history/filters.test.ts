import { expect, test } from 'vitest';
import type { HistoryRecord } from '../../../../api/types/build/history.ts';
import { historyTest } from '../../../../daemon/build/history/filters.ts';

const SECOND = 1_000_000_000n;
const NOW = 1_000_000n * SECOND;

const record = (more: Partial<HistoryRecord>): HistoryRecord => ({
  ref: 'abc',
  frontend: '',
  attributes: {},
  exporters: [],
  createdNano: NOW - 100n * SECOND,
  completedNano: NOW - 40n * SECOND,
  response: {},
  results: {},
  generation: 0,
  isPinned: false,
  steps: { total: 0, completed: 0, cached: 0 },
  warnings: 0,
  ...more,
});
const failed = { error: { code: 2, message: 'exit code: 1' } };

test.each<[filters: string[], more: Partial<HistoryRecord>, matches: boolean]>([
  [[], {}, true],
  [[''], {}, true],
  [['ref==abc'], {}, true],
  [['ref=ab'], {}, false],
  [['ref~=b.'], {}, true],
  [['ref!=abc'], {}, false],
  [['status==completed'], {}, true],
  [['status==error'], failed, true],
  [['status==canceled'], failed, false],
  [['status==canceled'], { error: { code: 1, message: 'gone' } }, true],
  [['status==canceled'], { error: { code: 2, message: 'x: context canceled' } }, true],
  [['ref==abc,status==error'], {}, false],
  [['ref==x', 'status==completed'], {}, true],
  [['"repository==https://h/a,b.git"'], { attributes: { 'vcs:source': 'https://h/a,b.git' } }, true],
  [['repository==https://h/a.git'], { attributes: { context: 'https://h/a.git#main' } }, true],
  [['repository~=h'], {}, false],
  [['startedAt>=2m'], {}, true],
  [['startedAt<=2m'], {}, false],
  [['completedAt>1970-01-12T13:46:00Z'], {}, false],
  [['duration>=1m,duration<2m'], {}, true],
  [['duration>1m'], {}, false],
])('%j of %j: %s', (filters, more, matches) => {
  expect(historyTest(filters, NOW)(record(more))).toBe(matches);
});

test.each(['size==1', 'ref>1', 'ref', 'duration>x', 'startedAt==1m', 'completedAt>yesterday'])(
  '%s is refused',
  (filter) => {
    expect(() => historyTest([filter], NOW)).toThrow(/invalid|failed to parse/);
  },
);
