import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { EventMessage } from '../../../api/types/system.ts';
import { systemClock, type Clock } from '../../../daemon/base/clock.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { EventLog } from '../../../daemon/events/event-log.ts';
import { openDatabase } from '../../../storage/database/index.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';

function setUp(clock: Clock = systemClock) {
  const database = openDatabase(':memory:', silentLogger);
  const events = new EventLog({ database, clock, log: silentLogger });
  const abort = new AbortController();
  const emit = (...actions: string[]): void => {
    for (const action of actions) {
      events.commit((tell) => tell({ type: 'container', action, actorId: 'c1', attributes: {} }));
    }
  };
  const stream = (options: { since?: bigint; until?: bigint } = {}) =>
    events.stream({ ...options, filters: new Map(), signal: abort.signal })[Symbol.asyncIterator]();
  return { database, events, abort, emit, stream };
}

async function take(reader: AsyncIterator<EventMessage>, count: number): Promise<string[]> {
  const actions: string[] = [];
  while (actions.length < count) {
    const { value, done } = await reader.next();
    if (done) {
      return [...actions, '(end)'];
    }
    actions.push(value.Action);
  }
  return actions;
}

const draft = (action: string) => ({ type: 'volume' as const, action, actorId: 'v', attributes: {} });

test('a reader without since gets what happens from the call on, even before it pulls', async () => {
  const { emit, stream } = setUp();
  emit('old');
  const reader = stream();
  emit('a', 'b');
  expect(await take(reader, 2)).toEqual(['a', 'b']);
});

test('a reader goes from stored to live events without a gap or a double', async () => {
  const { emit, stream, events } = setUp();
  const stored = limits.eventReplayPageRows * 2 + 3;
  emit(...Array.from({ length: stored }, (_, index) => String(index)));
  const reader = stream({ since: 0n });
  const seen: string[] = [];
  let next = stored;
  while (seen.length < stored * 2) {
    seen.push(...(await take(reader, 1)));
    // One more at every step: into pages already read, between pages, at the turn and live.
    emit(String(next));
    next += 1;
  }
  expect(seen).toEqual(Array.from({ length: stored * 2 }, (_, index) => String(index)));
  await reader.return?.();
  expect(events.listeners).toBe(0);
});

test('events of an earlier daemon are replayed', async () => {
  const { database, emit } = setUp();
  emit('before');
  const second = new EventLog({ database, clock: systemClock, log: silentLogger });
  const past = second.stream({
    until: systemClock.nowNano(),
    filters: new Map(),
    signal: new AbortController().signal,
  });
  expect(await take(past[Symbol.asyncIterator](), 2)).toEqual(['before', '(end)']);
});

test('until in the past ends after the replay, until in the future ends by itself', async () => {
  const clock = new ManualClock();
  const { emit, stream, database } = setUp(clock);
  emit('a', 'b', 'c');
  const times = database.events.range({ limit: 9 }).map(({ timeNano }) => timeNano);
  expect(await take(stream({ since: times[1]!, until: times[1]! }), 9)).toEqual(['b', '(end)']);
  const reader = stream({ since: times[2]!, until: clock.nowNano() + 60_000_000n });
  expect(await take(reader, 1)).toEqual(['c']);
  emit('d');
  const rest = take(reader, 9);
  await clock.advance(60);
  expect(await rest).toEqual(['d', '(end)']);
});

test('since after until is refused at once', () => {
  const { stream } = setUp();
  expect(() => stream({ since: 9_000_000_000n, until: 8_000_000_000n })).toThrow(
    '`since` time (9) cannot be after `until` time (8)',
  );
});

test('a failed commit tells nothing, an inner one that failed tells nothing of itself', async () => {
  const { events, stream, database } = setUp();
  const reader = stream();
  expect(() =>
    events.commit((emit) => {
      emit(draft('lost'));
      throw new Error('no');
    }),
  ).toThrow('no');
  events.commit((emit) => {
    emit(draft('outer'));
    expect(() =>
      events.commit((tell) => {
        tell(draft('inner'));
        throw new Error('inner');
      }),
    ).toThrow('inner');
    events.commit((tell) => tell(draft('joined')));
  });
  expect(await take(reader, 2)).toEqual(['outer', 'joined']);
  expect(database.events.range({ limit: 9 }).map(({ action }) => action)).toEqual(['outer', 'joined']);
});

test('an event told after its commit is a bug', () => {
  const { events } = setUp();
  let late: Parameters<Parameters<typeof events.commit>[0]>[0] | undefined;
  events.commit((emit) => {
    late = emit;
  });
  expect(() => late?.({ type: 'daemon', action: 'reload', actorId: 'd', attributes: {} })).toThrow(
    'event daemon reload outside of its commit',
  );
});

test('a reader that does not read is cut off and told so; the others get everything', async () => {
  const { emit, stream, events } = setUp();
  const slow = stream();
  const fast = stream();
  const total = limits.eventSubscriberQueueMax + 1;
  const reading = take(fast, total);
  for (let index = 0; index < total; index += 1) {
    emit('e');
    if (index % 512 === 0) {
      await sleep(0);
    }
  }
  expect((await reading).length).toBe(total);
  await expect(slow.next()).rejects.toThrow(expect.objectContaining({ code: 'resource_exhausted' }));
  expect(events.listeners).toBe(1);
});

test('aborting or closing ends streams, also those that were never read', async () => {
  const { stream, events, abort, emit } = setUp();
  const reading = take(stream(), 9);
  stream();
  expect(events.listeners).toBe(2);
  emit('a');
  await sleep(0);
  abort.abort();
  expect(await reading).toEqual(['a', '(end)']);
  expect(events.listeners).toBe(0);
  events[Symbol.dispose]();
  expect(
    await take(
      events.stream({ filters: new Map(), signal: new AbortController().signal })[Symbol.asyncIterator](),
      1,
    ),
  ).toEqual(['(end)']);
});

test('old events are pruned after a commit, not in it', async () => {
  const { database, emit } = setUp();
  const insertOld = (): void => {
    for (let index = 0; index < limits.eventsKeptMax + 10; index += 1) {
      database.events.insert({ timeNano: 1n, type: 'container', action: 'x', actorId: 'c', attributes: {} });
    }
  };
  database.transaction(insertOld);
  emit('a');
  const count = () => database.events.lastId() - (database.events.range({ limit: 1 })[0]?.id ?? 0) + 1;
  expect(count()).toBe(limits.eventsKeptMax + 11);
  await expect.poll(count).toBe(limits.eventsKeptMax);
});
