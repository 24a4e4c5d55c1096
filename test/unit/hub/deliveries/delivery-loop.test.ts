import { armHere } from '../../../support/fakes/failpoints.ts';
import { expect, onTestFinished, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { OwnCourier } from '../../../../daemon/hub/deliveries/attempt.ts';
import { DeliveryLoop } from '../../../../daemon/hub/deliveries/delivery-loop.ts';
import type { DeliveryLog } from '../../../../daemon/hub/deliveries/delivery.ts';
import { intentsOf, recordOf, type Intent } from '../../../../daemon/hub/deliveries/intent.ts';
import { LocalDeliveryLog } from '../../../../daemon/hub/deliveries/local-log.ts';
import { answered } from '../../../../daemon/hub/deliveries/outcome.ts';
import { DEFAULT_DELIVERY_RULES, type DeliveryRules } from '../../../../daemon/hub/deliveries/rules.ts';
import { sealed } from '../../../../daemon/hub/deliveries/seal.ts';
import type { Sender, Sent } from '../../../../daemon/hub/deliveries/sender.ts';
import type { Hook } from '../../../../daemon/hub/hooks/hook.ts';
import { LocalRecords } from '../../../../daemon/hub/records/local-records.ts';
import type { Records } from '../../../../daemon/hub/records/port.ts';
import { Addresses } from '../../../../daemon/hub/views/addresses.ts';
import { openDatabase } from '../../../../storage/database/index.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';
import { pushed } from '../../../support/hub/occurrences.ts';
import { BASE_URL } from '../../../support/hub/open-hub.ts';

interface Call {
  /** `host/guid`. */
  name: string;
  answer(code: number): void;
}

/** Loops over one database, one after the other as daemons are, and what they send. */
function rig(rules: Partial<DeliveryRules> = {}) {
  const database = openDatabase(':memory:', silentLogger);
  const clock = new ManualClock();
  const records = new LocalRecords(database);
  const log = new LocalDeliveryLog(database);
  const calls: Call[] = [];
  const off: number[] = [];
  const loops: DeliveryLoop[] = [];
  onTestFinished(() => {
    loops.forEach((loop) => loop[Symbol.dispose]());
    database.close();
  });
  const sender: Sender = {
    send: ({ url }, { headers }) =>
      new Promise<Sent>((resolve) => {
        calls.push({
          name: `${url.host}/${headers['X-Svc-Delivery']}`,
          answer: (code) => resolve({ outcome: answered(code), response: { headers: {}, payload: '' } }),
        });
      }),
  };
  return {
    clock,
    records,
    log,
    calls,
    off,
    names: () => calls.map(({ name }) => name),
    intents: async () => (await records.list('intent/')).records.flatMap(({ value }) => intentsOf(value)),
    async start(changed: { records?: Records; deliveries?: DeliveryLog } = {}): Promise<DeliveryLoop> {
      const loop = new DeliveryLoop({
        records,
        clock,
        log: silentLogger,
        deliveries: log,
        courier: new OwnCourier({
          clock,
          sender,
          services: undefined,
          addresses: new Addresses(BASE_URL),
          facts: { version: '0.1.0', hasCompatHeaders: false },
        }),
        rules: { ...DEFAULT_DELIVERY_RULES, ...rules },
        findHook: (_, id) => hook(id),
        switchOff: (_, id) => Promise.resolve(off.push(id)),
        ...changed,
      });
      loops.push(loop);
      await loop.start();
      await settled();
      return loop;
    },
    /** `count` pushes that a hook is to be told of. */
    async intend(id: number, count = 1): Promise<void> {
      const changes = Array.from({ length: count }, (_, index) => intent(id, index));
      await records.update(changes.map((value) => ({ kind: 'put', key: `intent/${value.id}`, value })));
      await settled();
    },
    async answer(code = 200): Promise<void> {
      calls.at(-1)?.answer(code);
      await settled();
      await clock.advance(limits.hubDeliveriesKeptMs);
    },
  };
}

/** Every hundred of them have one host. */
function hook(id: number): Hook {
  return {
    id,
    repository: 7,
    isActive: true,
    events: ['push'],
    config: {
      url: `http://host${Math.floor(id / 100)}`,
      contentType: 'json',
      secret: null,
      insecureSsl: '0',
    },
    createdMs: 0,
    updatedMs: 0,
  };
}

function intent(id: number, index: number): Intent {
  return {
    id: `${id}-${index}`,
    guid: `${id}-${index}`,
    hook: id,
    repository: 7,
    event: 'push',
    action: null,
    news: { kind: 'occurrence', occurrence: pushed() },
    lastHook: null,
    attempt: 0,
    notBeforeMs: 0,
  };
}

test('what is intended at its start is delivered, then what comes', async () => {
  const run = rig();
  await run.intend(1);
  await run.start();
  expect(run.names()).toEqual(['host0/1-0']);
  await run.intend(2);
  expect(run.names()).toEqual(['host0/1-0', 'host0/2-0']);
  run.calls.forEach((call) => call.answer(200));
  await settled();
  await run.clock.advance(limits.hubDeliveriesKeptMs);
  expect(await run.intents()).toEqual([]);
  expect(run.log.list({ hook: 1, limit: 9 })).toMatchObject([{ guid: '1-0', outcome: { code: 200 } }]);
});

test('a daemon that ended before a send, or before it was written down, sends again with the same guid', async () => {
  const run = rig();
  await run.intend(1);
  const first = await run.start();
  first[Symbol.dispose]();
  // It had no answer yet: the first one could have ended before or behind the receiver.
  const second = await run.start({
    deliveries: { ...kept(run.log), add: () => expect.fail('the disk is away') },
  });
  await run.answer();
  second[Symbol.dispose]();
  expect(run.log.list({ hook: 1, limit: 9 })).toEqual([]);
  await run.start();
  await run.answer();
  expect(run.names()).toEqual(['host0/1-0', 'host0/1-0', 'host0/1-0']);
  expect(run.log.list({ hook: 1, limit: 9 })).toMatchObject([{ guid: '1-0', isRedelivery: false }]);
  expect(await run.intents()).toEqual([]);
});

test('a daemon that ended behind the log does not send again, and takes the intent away', async () => {
  const run = rig();
  await run.intend(1);
  const { records } = run;
  const first = await run.start({
    records: {
      get: (key) => records.get(key),
      list: (prefix, options) => records.list(prefix, options),
      watch: (prefix, from, listener) => records.watch(prefix, from, listener),
      update: () => Promise.reject(new Error('away')),
    },
  });
  await run.answer();
  first[Symbol.dispose]();
  expect(await run.intents()).toHaveLength(1);
  await run.start();
  await run.clock.advance(limits.hubDeliveriesKeptMs);
  expect(run.names()).toEqual(['host0/1-0']);
  expect(await run.intents()).toEqual([]);
});

test('what could not be written down is written later, by the same daemon', async () => {
  const run = rig();
  let isAway = true;
  await run.start({
    deliveries: {
      ...kept(run.log),
      add: (some) => {
        if (isAway) {
          throw new Error('away');
        }
        run.log.add(some);
      },
    },
  });
  await run.intend(1);
  await run.answer();
  isAway = false;
  await run.clock.advance(1_100);
  expect(run.log.list({ hook: 1, limit: 9 })).toHaveLength(1);
  expect(run.names()).toHaveLength(1);
});

test('one hook has its deliveries in order; a host that is slow keeps no other one waiting', async () => {
  const run = rig();
  await run.start();
  await run.intend(1, 3);
  expect(run.names()).toEqual(['host0/1-0']);
  for (let id = 2; id <= 40; id += 1) {
    await run.intend(id);
  }
  expect(run.names()).toHaveLength(limits.hubDeliveriesOfHostAtOnce);
  await run.intend(100);
  expect(run.names().at(-1)).toBe('host1/100-0');
  run.calls[0]?.answer(200);
  await settled();
  // The next of a hook follows at once, for a short while; then it is another one's turn.
  await run.clock.advance(limits.hubDeliveriesTogetherMs);
  run.calls.at(-1)?.answer(200);
  await settled();
  expect(run.names().slice(limits.hubDeliveriesOfHostAtOnce + 1)).toEqual([
    'host0/1-1',
    `host0/${limits.hubDeliveriesOfHostAtOnce + 1}-0`,
  ]);
});

test('a delivery that failed is tried again as often as the setting says, later each time', async () => {
  const run = rig({ retries: 2 });
  await run.start();
  await run.intend(1);
  await run.answer(500);
  expect(run.names()).toHaveLength(1);
  expect(await run.intents()).toMatchObject([{ guid: '1-0', attempt: 1 }]);
  await run.clock.advance(60_000);
  expect(run.names()).toHaveLength(2);
  await run.answer(500);
  await run.clock.advance(60_000);
  expect(run.names()).toHaveLength(2);
  await run.clock.advance(60_000);
  await run.answer(500);
  expect(run.names()).toEqual(['host0/1-0', 'host0/1-0', 'host0/1-0']);
  expect(await run.intents()).toEqual([]);
  expect(run.log.list({ hook: 1, limit: 9 }).map(({ isRedelivery }) => isRedelivery)).toEqual([
    true,
    true,
    false,
  ]);
});

test('of one occurrence what was made goes from its record, and the next daemon makes the rest', async () => {
  const run = rig({ retries: 1 });
  const [first, second, third] = [1, 2, 3].map((id) => ({ ...intent(id, 0), id: `R-${id}` }));
  if (first === undefined || second === undefined || third === undefined) {
    throw new Error('not all of them');
  }
  const value = recordOf('R', [first, second, third]);
  await run.records.update([{ kind: 'put', key: 'intent/R', value }]);
  const loop = await run.start();
  expect(run.names()).toEqual(['host0/1-0', 'host0/2-0', 'host0/3-0']);
  run.calls[0]?.answer(200);
  run.calls[1]?.answer(500);
  await settled();
  await run.clock.advance(limits.hubDeliveriesKeptMs);
  const left = [
    { guid: '2-0', attempt: 1 },
    { guid: '3-0', attempt: 0 },
  ];
  expect((await run.intents()).toSorted((a, b) => a.hook - b.hook)).toMatchObject(left);
  loop[Symbol.dispose]();
  await run.start();
  expect(run.names().slice(3)).toEqual(['host0/3-0']);
  await run.answer(200);
  await run.clock.advance(60_000);
  expect(run.names().slice(4)).toEqual(['host0/2-0']);
  await run.answer(200);
  expect(await run.intents()).toEqual([]);
  expect([1, 2, 3].map((id) => run.log.list({ hook: id, limit: 9 }).length)).toEqual([1, 2, 1]);
});

test('what a swarm tells late of a record does not make its deliveries again', async () => {
  const run = rig();
  const { records } = run;
  const late: (() => void)[] = [];
  await run.start({
    records: {
      get: (key) => records.get(key),
      list: (prefix, options) => records.list(prefix, options),
      update: (changes) => records.update(changes),
      watch: (prefix, from, listener) =>
        records.watch(prefix, from, {
          onRelist: () => listener.onRelist(),
          onChanges: (events, revision) => late.push(() => listener.onChanges(events, revision)),
        }),
    },
  });
  const tell = async (): Promise<void> => {
    late.splice(0, 1).forEach((each) => each());
    await settled();
  };
  const value = recordOf('R', [
    { ...intent(1, 0), id: 'R-0' },
    { ...intent(2, 0), id: 'R-1' },
  ]);
  await records.update([{ kind: 'put', key: 'intent/R', value }]);
  await tell();
  await run.answer();
  run.calls[0]?.answer(200);
  await settled();
  await run.clock.advance(limits.hubDeliveriesKeptMs);
  expect(await run.intents()).toEqual([]);
  // That one of them is left, then that none is.
  expect(late).toHaveLength(2);
  await tell();
  await tell();
  expect(run.names()).toEqual(['host0/1-0', 'host0/2-0']);
});

test('a hook is switched off after so many failures in a row', async () => {
  const run = rig({ switchOffAfter: 2 });
  await run.start();
  await run.intend(1, 4);
  for (const code of [500, 200, 500]) {
    await run.answer(code);
  }
  expect(run.off).toEqual([]);
  await run.answer(404);
  expect(run.off).toEqual([1]);
});

test('what is kept goes after 30 days, past a number of one hook and past a size', () => {
  const run = rig();
  const day = 86_400_000;
  const add = (attempt: string, id: number, deliveredMs: number): void =>
    run.log.add([
      sealed({
        attempt,
        guid: attempt,
        hook: id,
        repository: 7,
        event: 'push',
        action: null,
        isRedelivery: false,
        deliveredMs,
        durationMs: 1,
        outcome: answered(200),
        url: 'http://x',
        request: { headers: {}, payload: '{}' },
        response: { headers: {}, payload: '' },
      }),
    ]);
  ['a', 'b', 'c', 'd'].forEach((name, index) => add(name, 1, index * day));
  add('e', 2, 4 * day);
  add('e', 2, 5 * day);
  const guids = () =>
    [1, 2].map((id) =>
      run.log
        .list({ hook: id, limit: 9 })
        .map(({ guid }) => guid)
        .join(''),
    );
  expect(guids()).toEqual(['dcba', 'e']);
  for (const step of ['hub.deliveries.prune', 'database.hubdelivery.prune']) {
    armHere(`${step}=error`);
    expect(() => run.log.prune({ beforeMs: day, ofHook: 9, bytes: 1e9 })).toThrow(step);
    armHere('');
    expect(guids()).toEqual(['dcba', 'e']);
  }
  run.log.prune({ beforeMs: day, ofHook: 9, bytes: 1e9 });
  expect(guids()).toEqual(['dcb', 'e']);
  run.log.prune({ beforeMs: 0, ofHook: 2, bytes: 1e9 });
  expect(guids()).toEqual(['dc', 'e']);
  run.log.prune({ beforeMs: 0, ofHook: 9, bytes: 1 });
  expect(guids()).toEqual(['', '']);
});

function kept(log: DeliveryLog): DeliveryLog {
  return {
    add: (some) => log.add(some),
    has: (attempt) => log.has(attempt),
    list: (query) => log.list(query),
    newer: (query) => log.newer(query),
    get: (id, delivery) => log.get(id, delivery),
    prune: (bounds) => log.prune(bounds),
  };
}
