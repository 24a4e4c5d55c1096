import { expect, test } from 'vitest';
import type { EventMessage } from '../../../api/types/system.ts';
import { EngineError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { EventLog } from '../../../daemon/events/event-log.ts';
import { openDatabase } from '../../../storage/database/index.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';

/** A database that can be told to refuse every transaction, as a full disk makes SQLite do. */
function setUp() {
  const real = openDatabase(':memory:', silentLogger);
  const disk = { isFull: false, attempts: 0 };
  const database = {
    events: real.events,
    transaction: <T>(change: () => T, options?: { durable?: boolean }): T => {
      disk.attempts += 1;
      if (disk.isFull) {
        throw new EngineError('resource_exhausted', 'begin transaction: no space left on device');
      }
      return real.transaction(change, options);
    },
  };
  const clock = new ManualClock();
  const events = new EventLog({ database, clock, log: silentLogger });
  const written: string[] = [];
  const row = (key: string, value: string) => ({
    key,
    write: () => void written.push(`${key}=${value}`),
    stored: () => void written.push(`stored ${value}`),
  });
  const stored = (): string[] => real.events.range({ limit: 10_000 }).map(({ action }) => action);
  return { disk, clock, events, written, row, stored };
}

const event = (action: string) => ({ type: 'container' as const, action, actorId: 'c1', attributes: {} });

test('R67: a fact is stored at once, rows before events, and tells so', () => {
  const { events, written, row, stored } = setUp();
  events.note([event('die')], row('a', 'exited'));
  expect([written, stored()]).toEqual([['a=exited', 'stored exited'], ['die']]);
});

test('R67: what the disk refuses is told at once, and stored in order when there is room', async () => {
  const { disk, clock, events, written, row, stored } = setUp();
  const told: string[] = [];
  const abort = new AbortController();
  const live = events.stream({ filters: new Map(), signal: abort.signal })[Symbol.asyncIterator]();
  disk.isFull = true;
  events.note([event('kill')], row('a', 'stopping'));
  events.note([event('die')], row('b', 'exited'));
  events.note([event('stop')], row('a', 'exited'));
  for (let count = 0; count < 3; count += 1) {
    told.push((await live.next()).value.Action);
  }
  expect([told, written, stored()]).toEqual([['kill', 'die', 'stop'], [], []]);
  disk.isFull = false;
  await clock.advance(limits.backlogRetryMs);
  // The newest of each row, and everybody who waited for one of them.
  expect(written).toEqual(['a=exited', 'b=exited', 'stored stopping', 'stored exited', 'stored exited']);
  expect(stored()).toEqual(['kill', 'die', 'stop']);
  abort.abort();
});

test('R67: a commit stores what waits before it, and is refused with it', () => {
  const { disk, events, written, row, stored } = setUp();
  disk.isFull = true;
  events.note([], row('a', 'gone'));
  expect(() => events.commit(() => written.push('b=new'))).toThrow('no space left');
  expect(() => events.settle()).toThrow('no space left');
  expect(written).toEqual([]);
  disk.isFull = false;
  events.commit((emit) => {
    written.push('b=new');
    emit(event('create'));
  });
  expect([written, stored()]).toEqual([['a=gone', 'b=new', 'stored gone'], ['create']]);
});

test('R67: events of a commit wait behind those that wait, so that ids stay in order', async () => {
  const { disk, clock, events, stored } = setUp();
  disk.isFull = true;
  events.note([event('first')]);
  disk.isFull = false;
  events.commit((emit) => emit(event('second')));
  events.note([event('third')]);
  expect(stored()).toEqual([]);
  await clock.advance(limits.backlogRetryMs);
  expect(stored()).toEqual(['first', 'second', 'third']);
});

test('R67: a reader of the past gets what waits, between what is stored and what is live', async () => {
  const { disk, events } = setUp();
  events.note([event('stored')]);
  disk.isFull = true;
  events.note([event('waiting')]);
  const abort = new AbortController();
  const stream = events.stream({ since: 0n, filters: new Map(), signal: abort.signal });
  const reader = stream[Symbol.asyncIterator]();
  const next = async (): Promise<string> => ((await reader.next()).value as EventMessage).Action;
  expect([await next(), await next()]).toEqual(['stored', 'waiting']);
  events.note([event('live')]);
  expect(await next()).toBe('live');
  abort.abort();
});

test('R67: a disk that stays full is tried ever more rarely, and events past the bound are dropped', async () => {
  const { disk, clock, events, written, row, stored } = setUp();
  disk.isFull = true;
  const extra = 3;
  for (let index = 0; index < limits.backlogEventsMax + extra; index += 1) {
    events.note([event(String(index))], row('a', String(index)));
  }
  const before = disk.attempts;
  await clock.advance(60_000);
  expect(disk.attempts - before).toBeLessThan(60_000 / limits.backlogRetryMaxMs + 10);
  disk.isFull = false;
  await clock.advance(limits.backlogRetryMaxMs);
  expect(written[0]).toBe(`a=${limits.backlogEventsMax + extra - 1}`);
  expect([stored().length, stored()[0]]).toEqual([limits.backlogEventsMax, String(extra)]);
});

test('R67: a row that can never be written is given up and holds nothing up', () => {
  const { events, written, row, stored } = setUp();
  const bad = {
    key: 'bad',
    write: () => {
      throw new EngineError('conflict', 'insert: name already in use');
    },
  };
  events.note([event('odd')], bad);
  events.note([event('good')], row('a', 'fine'));
  expect([written, stored()]).toEqual([
    ['a=fine', 'stored fine'],
    ['odd', 'good'],
  ]);
});

test('R67: a fact inside a commit that fails stands, and is stored by itself', async () => {
  const { clock, events, written, row } = setUp();
  expect(() =>
    events.commit(() => {
      events.note([], row('a', 'fact'));
      throw new Error('refused');
    }),
  ).toThrow('refused');
  expect(written).toEqual([]);
  await clock.advance(limits.backlogRetryMs);
  expect(written).toEqual(['a=fact', 'stored fact']);
});

test('R67: the end of the daemon tries once more, and throws nothing', () => {
  const { disk, events, written, row } = setUp();
  disk.isFull = true;
  events.note([event('die')], row('a', 'exited'));
  events[Symbol.dispose]();
  expect(written).toEqual([]);
});
