import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { EventMessage } from '../../../api/types/system.ts';
import { systemClock } from '../../../daemon/base/clock.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { EventLog } from '../../../daemon/events/event-log.ts';
import { SwarmEventLog } from '../../../daemon/events/swarm-events.ts';
import { openDatabase } from '../../../storage/database/index.ts';

const AT = 1_767_225_600_123;
const CREATED = { type: 'service' as const, action: 'create', id: 's', attributes: { name: 'web' }, at: AT };

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'berth-test-events-'));
});

afterEach(() => rm(directory, { recursive: true }));

function daemon() {
  const database = openDatabase(path.join(directory, 'db'), silentLogger);
  const journal = new EventLog({ database, clock: systemClock, log: silentLogger });
  return { database, journal, log: new SwarmEventLog({ database, journal }) };
}

async function since(journal: EventLog, filters: Record<string, string[]>): Promise<EventMessage[]> {
  const options = { since: 1n, until: systemClock.nowNano() };
  const told: EventMessage[] = [];
  const signal = new AbortController().signal;
  for await (const event of journal.stream({
    ...options,
    filters: new Map(Object.entries(filters)),
    signal,
  })) {
    told.push(event);
  }
  return told;
}

test('events of the swarm and their place outlive the daemon', async () => {
  const first = daemon();
  expect(first.log.noted('c')).toBeUndefined();
  first.log.note('c', [CREATED], { revision: 7, there: [{ type: 'node', id: 'n', name: 'one' }] });
  first.journal[Symbol.dispose]();
  first.database.close();

  const second = daemon();
  expect(second.log.noted('c')).toEqual({
    revision: 7,
    objects: [
      { type: 'node', id: 'n', name: 'one' },
      { type: 'service', id: 's', name: 'web' },
    ],
  });
  expect(second.log.noted('another swarm')).toBeUndefined();
  expect(await since(second.journal, { scope: ['swarm'] })).toEqual([
    {
      Type: 'service',
      Action: 'create',
      Actor: { ID: 's', Attributes: { name: 'web' } },
      scope: 'swarm',
      time: Math.floor(AT / 1000),
      timeNano: BigInt(AT) * 1_000_000n,
    },
  ]);
  second.journal[Symbol.dispose]();
  second.database.close();
});

test.each([
  [{ service: ['web'] }, 1],
  [{ service: ['s'] }, 1],
  [{ type: ['service'] }, 1],
  [{ node: ['web'] }, 0],
  [{ scope: ['local'] }, 0],
])('events: %j', async (filters, count) => {
  const { database, journal, log } = daemon();
  log.note('c', [CREATED], { revision: 1 });
  expect(await since(journal, filters)).toHaveLength(count);
  journal[Symbol.dispose]();
  database.close();
});

test('networks of the swarm are told apart from what becomes of them on this host', async () => {
  const { database, journal, log } = daemon();
  log.note('c', [{ ...CREATED, type: 'network', id: 'n' }], { revision: 1 });
  const attributes = { name: 'web', type: 'overlay' };
  journal.note([
    { type: 'network', action: 'create', actorId: 'n', attributes },
    { type: 'network', action: 'prune', actorId: '', attributes: { reclaimed: '0' } },
  ]);
  const told = await since(journal, { type: ['network'] });
  expect(told.map(({ scope, Action }) => `${scope} ${Action}`).toSorted()).toEqual([
    'local create',
    'local prune',
    'swarm create',
  ]);
  journal[Symbol.dispose]();
  database.close();
});

test('objects that were removed, and those of another swarm, are forgotten', () => {
  const first = daemon();
  first.log.note('c', [CREATED, { ...CREATED, id: 't' }], { revision: 1 });
  first.log.note('c', [{ ...CREATED, action: 'remove' }], { revision: 2 });
  first.journal[Symbol.dispose]();
  first.database.close();

  const second = daemon();
  expect(second.log.noted('c')).toEqual({
    revision: 2,
    objects: [{ type: 'service', id: 't', name: 'web' }],
  });
  second.log.note('d', [], { revision: 1 });
  expect(second.database.swarmObjects.all()).toEqual([]);
  expect(second.log.noted('d')).toEqual({ revision: 1, objects: [] });
  second.journal[Symbol.dispose]();
  second.database.close();
});

test('objects that the disk refused are written with the next', () => {
  const { database, journal } = daemon();
  let isFull = true;
  const swarmObjects: typeof database.swarmObjects = {
    ...database.swarmObjects,
    put: (row) => {
      if (isFull) {
        throw new Error('the disk is full');
      }
      database.swarmObjects.put(row);
    },
  };
  const log = new SwarmEventLog({ database: { meta: database.meta, swarmObjects }, journal });
  log.note('c', [CREATED], { revision: 1 });
  expect(database.swarmObjects.all()).toEqual([]);
  expect(log.noted('c')?.objects).toHaveLength(1);
  isFull = false;
  journal.settle();
  expect(database.swarmObjects.all()).toEqual([{ type: 'service', id: 's', name: 'web' }]);
  expect(database.meta.get('swarmEvents')).toBe('c 1');
  journal[Symbol.dispose]();
  database.close();
});
