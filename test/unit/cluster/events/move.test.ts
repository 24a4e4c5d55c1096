import { armHere } from '../../../support/fakes/failpoints.ts';
import { expect, onTestFinished, test } from 'vitest';
import { EngineError } from '../../../../daemon/base/errors.ts';
import { systemClock } from '../../../../daemon/base/clock.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { ClusterEvents } from '../../../../daemon/cluster/events/events.ts';
import { LocalEvents } from '../../../../daemon/cluster/events/storage/local-events.ts';
import { bringEvents, takeEvents } from '../../../../daemon/cluster/events/storage/move.ts';
import type { EventStorage } from '../../../../daemon/cluster/events/storage/port.ts';
import { SharedEvents } from '../../../../daemon/cluster/events/storage/shared-events.ts';
import { LocalRecords } from '../../../../daemon/hub/records/local-records.ts';
import { openDatabase } from '../../../../storage/database/index.ts';
import { anEvent } from '../../../support/cluster/event.ts';

const ALL = { namespace: undefined, fieldSelector: '', labelSelector: '', fields: 'events' } as const;
const WRITE = { fields: 'events', isDryRun: false, manager: undefined } as const;

type Database = ReturnType<typeof openDatabase>;

function open(): Database {
  const database = openDatabase(':memory:', silentLogger);
  onTestFinished(() => database.close());
  return database;
}

/** Hosts and the store of their swarm, whose records keep the same contract in a database. */
function rig() {
  const records = new LocalRecords(open());
  const shared = (): EventStorage => new SharedEvents({ records, clock: systemClock, log: silentLogger });
  return {
    records,
    shared,
    bring: (database: Database) => bringEvents({ database, shared: records, log: silentLogger }),
    take: (database: Database) => takeEvents({ database, shared: records }),
  };
}

async function over<T>(storage: EventStorage, act: (events: ClusterEvents) => Promise<T>): Promise<T> {
  const retention = { normalTtlS: 3_600, otherTtlS: 86_400, max: 100_000 };
  await using events = await ClusterEvents.open({
    storage,
    clock: systemClock,
    log: silentLogger,
    retention,
  });
  return await act(events);
}

function create(storage: EventStorage, ...names: string[]): Promise<void> {
  return over(storage, async (events) => {
    for (const name of names) {
      const event = anEvent(name);
      await events.create({ ...event, metadata: { ...event.metadata, namespace: 'default' } }, WRITE);
    }
  });
}

function namesOf(storage: EventStorage): Promise<string[]> {
  return over(storage, (events) => Promise.resolve(events.list(ALL).items.map(({ name }) => name)));
}

test('events go into a swarm beside those that are there, and out of it with the last', async () => {
  const { shared, bring, take } = rig();
  const [first, second] = [open(), open()];
  await create(new LocalEvents(first), 'a', 'b');
  await create(new LocalEvents(second), 'b', 'c');
  expect(await bring(first)).toBe(2);
  expect(await bring(second)).toBe(2);
  expect(await namesOf(shared())).toEqual(['a', 'b', 'c']);
  expect(await namesOf(new LocalEvents(first))).toEqual([]);
  await create(shared(), 'd');
  const version = await over(shared(), (events) => Promise.resolve(events.revision));
  expect(await take(second)).toBe(4);
  expect(await namesOf(new LocalEvents(second))).toEqual(['a', 'b', 'c', 'd']);
  // Nobody takes a version of the swarm for one of the host.
  await over(new LocalEvents(second), (events) => {
    expect(events.revision).toBeGreaterThan(version);
    expect(() => events.watch(ALL, version, { onChanges: () => undefined, onEnd: () => undefined })).toThrow(
      'too old resource version',
    );
    return Promise.resolve();
  });
});

test.each(['cluster.events.brought', 'cluster.events.taken'])(
  'a move that ends at %s and is made again loses none and doubles none',
  async (point) => {
    const { shared, bring, take } = rig();
    const host = open();
    const names = Array.from({ length: 150 }, (_, index) => `e${String(index).padStart(3, '0')}`);
    await create(new LocalEvents(host), ...names);
    armHere(`${point}=error(cut off)@1`);
    // Cut off there, or not: both are tried.
    await bring(host).catch(() => undefined);
    await bring(host);
    expect(await namesOf(shared())).toEqual(names);
    const next = open();
    // As above.
    await take(next).catch(() => undefined);
    armHere('');
    await take(next);
    expect(await namesOf(new LocalEvents(next))).toEqual(names);
  },
);

test('an event that the swarm does not take stays on the host, and holds up no other', async () => {
  const { records } = rig();
  const host = open();
  await create(new LocalEvents(host), 'a', 'large', 'z');
  const shared = {
    list: records.list.bind(records),
    update: async (...[changes, options]: Parameters<LocalRecords['update']>) => {
      if (changes.some(({ key }) => key === 'default/large')) {
        throw new EngineError('resource_exhausted', 'too large');
      }
      return await records.update(changes, options);
    },
  };
  expect(await bringEvents({ database: host, shared, log: silentLogger })).toBe(2);
  expect(await namesOf(new LocalEvents(host))).toEqual(['large']);
});
