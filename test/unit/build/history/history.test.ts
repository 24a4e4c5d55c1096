import { expect, test } from 'vitest';
import type { HistoryEvent, HistoryQuestion } from '../../../../api/types/build/history.ts';
import type { BuildUpdate } from '../../../../api/types/build/status.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { BuildHistory } from '../../../../daemon/build/history/history.ts';
import { frameLog, logMessages } from '../../../../daemon/build/history/log.ts';
import { toForget } from '../../../../daemon/build/history/retention.ts';
import { shownAttributes } from '../../../../daemon/build/history/shown-attributes.ts';
import { openDatabase } from '../../../../storage/database/index.ts';
import type { BuildHistoryTable } from '../../../../storage/database/rows.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';

const { signal } = new AbortController();
const QUESTION: HistoryQuestion = { ref: '', isActiveOnly: false, endsEarly: true, filters: [], limit: 0 };
const BEGUN = { frontend: '', attributes: new Map(), exporters: [], trace: undefined };
const END = { updates: [], response: new Map(), asked: undefined, images: [] };

function made(kept = { entriesMin: 2, ageMs: 1_000 }): {
  history: BuildHistory;
  clock: ManualClock;
  table: BuildHistoryTable;
} {
  const clock = new ManualClock();
  const codec = {
    update: () => Buffer.from('u'),
    error: () => ({ code: 2, message: 'no', bytes: Buffer.from('e') }),
  };
  const { buildHistory: table } = openDatabase(':memory:', silentLogger);
  const deps = { table, codec, clock, log: silentLogger, platform: 'linux/amd64', version: '1', kept };
  return { history: new BuildHistory(deps), clock, table };
}

async function told(history: BuildHistory, question = QUESTION): Promise<string[]> {
  const events: string[] = [];
  for await (const event of history.listen(question, signal)) {
    events.push(nameOf(event));
  }
  return events;
}

function nameOf(event: HistoryEvent): string {
  return `${event.type} ${event.type === 'deleted' ? event.ref : event.record.ref}`;
}

const row = (ref: string, completedMs: number, more = {}): Parameters<typeof toForget>[0][number] => ({
  ref,
  completedMs,
  isPinned: false,
  sizeBytes: 10,
  ...more,
});

const update = (text: string): BuildUpdate => ({
  vertexes: [],
  statuses: [],
  logs: [{ vertex: 'v', at: 0n, stream: 1, data: Buffer.from(text) }],
  warnings: [],
});

const encode = ({ logs }: BuildUpdate): Buffer => Buffer.concat(logs.map(({ data }) => data));

test('a build goes on until its end, then it is told as one that was; a later one takes its name', async () => {
  const { history } = made();
  const end = history.begin({ ...BEGUN, ref: 'a' });
  expect(await told(history)).toEqual(['started a']);
  expect(() => history.remove('a')).toThrow('build a is under way');
  await end(END);
  expect(await told(history)).toEqual(['complete a']);
  const again = history.begin({ ...BEGUN, ref: 'a' });
  expect(await told(history)).toEqual(['started a', 'complete a']);
  await again({ ...END, error: new Error('no') });
  expect(await told(history, { ...QUESTION, filters: ['status==error'] })).toEqual(['complete a']);
  expect(await told(history)).toEqual(['complete a']);
});

test('old ones go behind the newest, what is pinned stays', async () => {
  const { history, clock } = made();
  for (const ref of ['a', 'b', 'c', 'd']) {
    await history.begin({ ...BEGUN, ref })(END);
    await clock.advance(10);
  }
  history.pin('a', true);
  expect(await told(history)).toEqual(['complete a', 'complete b', 'complete c', 'complete d']);
  await clock.advance(limits.buildHistoryLookMs);
  expect(await told(history)).toEqual(['complete a', 'complete c', 'complete d']);
});

test('a record beyond its bound is not kept, and who listens is told that the build is gone', async () => {
  const { history } = made();
  const events = history.listen({ ...QUESTION, endsEarly: false }, signal);
  const first = events.next();
  const attributes = new Map([['build-arg:A', 'x'.repeat(limits.buildHistoryRecordBytesMax)]]);
  await history.begin({ ...BEGUN, ref: 'a', attributes })(END);
  const texts: string[] = [];
  for (const { value } of [await first, await events.next()]) {
    texts.push(nameOf(value as HistoryEvent)); // It has not ended.
  }
  expect(texts).toEqual(['started a', 'deleted a']);
  expect(await told(history)).toEqual([]);
});

test('no more than so many are pinned', async () => {
  const { history, table } = made();
  await history.begin({ ...BEGUN, ref: 'a' })(END);
  for (let number = 0; number < limits.buildHistoryPinnedMax; number += 1) {
    table.put({ ref: `b${number}`, completedMs: 0, isPinned: true, sizeBytes: 1, record: '{}' }, []);
  }
  expect(() => history.pin('a', true)).toThrow('builds are pinned');
});

test('who reads too slowly is told so', async () => {
  const { history } = made();
  const slow = history.listen({ ...QUESTION, endsEarly: false }, signal);
  const first = slow.next();
  await history.begin({ ...BEGUN, ref: 'a' })(END);
  for (let number = 0; number < limits.buildHistoryEventsMax; number += 1) {
    history.pin('a', number % 2 === 0);
  }
  await first;
  await expect(slow.next()).rejects.toThrow('the client reads too slowly');
});

test('retention: both age and number must be past, and all together have a bound', () => {
  const rows = [row('old', 0), row('older', -5), row('new', 90), row('pinned', 0, { isPinned: true })];
  const bounds = { entriesMin: 1, ageMs: 50, bytesMax: 1_000 };
  expect(toForget(rows, bounds, 100)).toEqual(['old', 'older']);
  expect(toForget(rows, { ...bounds, entriesMin: 2 }, 100)).toEqual(['older']);
  expect(toForget(rows, { ...bounds, ageMs: 1_000 }, 100)).toEqual([]);
  expect(toForget(rows, { ...bounds, ageMs: 1_000, bytesMax: 30 }, 100)).toEqual(['older']);
});

test('a log comes back message by message, and large output in several', () => {
  const large = 'x'.repeat(200 * 1024);
  const framed = frameLog([update('a'), update('b'), update(large), update(large)], encode);
  expect([...logMessages(framed)].map((message) => message.length)).toEqual([2 + large.length, large.length]);
  expect([...logMessages(frameLog([], encode))]).toEqual([]);
});

test('passwords and keys of attributes are not shown', () => {
  const caches = JSON.stringify([{ Type: 'gha', Attrs: { scope: 'main', token: 'secret' } }]);
  expect(
    shownAttributes(
      new Map([
        ['context', 'https://me:secret@h/one.git#main'],
        ['context:own', 'ssh://git@h/one.git'],
        ['build-arg:HTTP_PROXY', 'http://me:secret@proxy:1'],
        ['cache-imports', caches],
        ['label:a', 'a@b:c'],
      ]),
    ),
  ).toEqual({
    context: 'https://xxxxx:xxxxx@h/one.git#main',
    'context:own': 'ssh://git@h/one.git',
    'build-arg:HTTP_PROXY': 'http://xxxxx:xxxxx@proxy:1/',
    'cache-imports': '[{"Type":"gha","Attrs":{"scope":"main"}}]',
    'label:a': 'a@b:c',
  });
});
