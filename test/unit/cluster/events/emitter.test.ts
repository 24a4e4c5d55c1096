import { armHere } from '../../../support/fakes/failpoints.ts';
import { expect, test } from 'vitest';
import type { EventMessage } from '../../../../api/types/system.ts';
import { systemClock } from '../../../../daemon/base/clock.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { Emitter } from '../../../../daemon/cluster/events/emit/emitter.ts';
import { happeningOf } from '../../../../daemon/cluster/events/emit/engine-events.ts';
import { openEvents } from '../../../support/cluster/memory-events.ts';
import { until } from '../../../support/engine/http.ts';
import { processorTime } from '../../../support/processor-time.ts';

const ALL = { namespace: undefined, fieldSelector: '', labelSelector: '', fields: 'events' } as const;

function message(
  Type: string,
  Action: string,
  Attributes: Record<string, string>,
  id = 'a1b2',
): EventMessage {
  const timeNano = systemClock.nowNano();
  return {
    Type: Type as EventMessage['Type'],
    Action,
    Actor: { ID: id, Attributes },
    scope: 'local',
    time: 0,
    timeNano,
  };
}

test.each([
  ['container', 'start', { name: 'web' }, { reason: 'Started', type: 'Normal', namespace: 'default' }],
  ['container', 'die', { name: 'web', exitCode: '0' }, { reason: 'Completed', type: 'Normal' }],
  ['container', 'die', { name: 'web', exitCode: '137' }, { reason: 'Failed', type: 'Warning' }],
  ['container', 'health_status: unhealthy', { name: 'web' }, { reason: 'Unhealthy', type: 'Warning' }],
  ['container', 'oom', { name: 'web' }, { reason: 'OOMKilling', type: 'Warning' }],
  ['container', 'start', { name: 'web', 'com.docker.stack.namespace': 'shop' }, { namespace: 'shop' }],
  ['container', 'start', { name: 'web', 'com.docker.stack.namespace': 'a/b' }, { namespace: 'default' }],
  ['network', 'connect', { name: 'net', container: 'c1' }, { related: { kind: 'Container', uid: 'c1' } }],
  ['node', 'update', { name: 'n1', 'state.new': 'down' }, { reason: 'NodeDown', type: 'Warning' }],
  ['image', 'pull', { name: 'busybox:latest' }, { reason: 'Pulled', part: 'images' }],
  ['container', 'exec_create: sh', { name: 'web' }, undefined],
])('happenings: %s %s', (type, action, attributes, expected) => {
  const happening = happeningOf(message(type, action, attributes));
  expect(happening).toEqual(expected && expect.objectContaining(expected));
});

test.each([
  ['node', { name: 'n1', 'leader.new': 'true' }, 'LeaderElected'],
  ['node', { name: 'n1', 'leader.old': 'true', 'leader.new': 'false' }, 'LeaderReplaced'],
  ['node', { name: 'n1', 'role.new': 'manager' }, 'NodePromoted'],
  ['node', { name: 'n1', 'role.new': 'worker' }, 'NodeDemoted'],
  ['node', { name: 'n1', 'reachability.new': 'unreachable' }, 'ManagerUnreachable'],
  ['node', { name: 'n1', 'reachability.new': 'reachable' }, 'ManagerReachable'],
  ['node', { name: 'n1', 'availability.new': 'drain' }, 'NodeUpdated'],
  ['service', { name: 'web', 'updatestate.new': 'updating' }, 'UpdateStarted'],
  ['service', { name: 'web', 'updatestate.new': 'completed' }, 'UpdateCompleted'],
  ['service', { name: 'web', 'updatestate.new': 'paused' }, 'UpdatePaused'],
  ['service', { name: 'web', 'updatestate.new': 'rollback_completed' }, 'RollbackCompleted'],
  ['service', { name: 'web', 'replicas.new': '3' }, 'ServiceUpdated'],
  ['service', { name: 'web', 'replicas.old': '9', 'replicas.new': '10' }, 'ScaledUp'],
  ['service', { name: 'web', 'replicas.old': '3', 'replicas.new': '1' }, 'ScaledDown'],
])('happenings: an update of a %s with %o is %s', (type, attributes, reason) => {
  const told = message(type, 'update', Object.fromEntries(Object.entries(attributes)));
  expect(happeningOf(told)).toMatchObject({ reason });
});

function anEmitter(events: Awaited<ReturnType<typeof openEvents>>['events']): Emitter {
  return new Emitter({
    events: () => events,
    clock: systemClock,
    log: silentLogger,
    instance: () => 'host-1',
  });
}

test('happenings: what managers hear of at different times is named by what it is, and told once', async () => {
  await using open = await openEvents();
  const managers = [anEmitter(open.events), anEmitter(open.events)];
  const removed = message('service', 'remove', { name: 'web' });
  for (const [index, emitter] of managers.entries()) {
    const timeNano = removed.timeNano + BigInt(index);
    const happening = happeningOf({ ...removed, scope: 'swarm', timeNano });
    expect(happening).toBeDefined();
    void emitter.tell(happening!);
  }
  await until('it to be told', () => open.events.list(ALL).items.length > 0);
  managers.forEach((emitter) => emitter[Symbol.dispose]());
  expect(open.events.list(ALL).items).toHaveLength(1);
});

test('happenings: what managers observe is told once, and counted when it happens again', async () => {
  await using open = await openEvents();
  const managers = [anEmitter(open.events), anEmitter(open.events), anEmitter(open.events)];
  const down = message('node', 'update', { name: 'n1', 'state.old': 'ready', 'state.new': 'down' });
  /** As three managers hear of it, some seconds apart. */
  const tellAll = (afterS: number): void => {
    for (const [index, emitter] of managers.entries()) {
      // One of them hears of two changes at once.
      const Attributes = { ...down.Actor.Attributes, ...(index === 1 && { 'leader.new': 'false' }) };
      const timeNano = down.timeNano + BigInt(afterS + index) * 1_000_000_000n;
      const happening = happeningOf({
        ...down,
        Actor: { ...down.Actor, Attributes },
        scope: 'swarm',
        timeNano,
      });
      void emitter.tell(happening!);
    }
  };
  tellAll(0);
  await until('it to be told', () => open.events.list(ALL).items.length > 0);
  tellAll(60);
  await until('the second time', () => open.events.list(ALL).items[0]?.text.includes('"count":2') === true);
  tellAll(120);
  await until('the third time', () => open.events.list(ALL).items[0]?.text.includes('"count":3') === true);
  managers.forEach((emitter) => emitter[Symbol.dispose]());
  expect(open.events.list(ALL).items).toHaveLength(1);
});

function tell(emitter: Emitter, ...told: Parameters<typeof message>): void {
  const happening = happeningOf(message(...told));
  if (happening !== undefined) {
    void emitter.tell(happening);
  }
}

test('emitter: what repeats becomes a series', async () => {
  await using open = await openEvents();
  using emitter = anEmitter(open.events);
  for (let count = 0; count < 40; count += 1) {
    tell(emitter, 'container', 'die', { name: 'Web_1', exitCode: '1' });
  }
  await until('the series', () =>
    open.events.list(ALL).items.some(({ text }) => text.includes('"count":40')),
  );
  const { items } = open.events.list(ALL);
  expect(items).toHaveLength(1);
  expect(items[0]?.name).toMatch(/^web-1\.[0-9a-f]+$/);
});

test('emitter: a flood of one object, and of many, is cut short and blocks nothing', async () => {
  await using open = await openEvents();
  using emitter = anEmitter(open.events);
  const tookMs = processorTime();
  for (let count = 0; count < 10_000; count += 1) {
    tell(emitter, 'container', 'start', { name: 'web' }, `id${count}`);
    tell(emitter, 'network', 'connect', { name: 'net', container: `c${count}` });
  }
  expect(tookMs()).toBeLessThan(2_000);
  await until('the events', () => open.events.list(ALL).items.length === 500);
  const ofNetwork = open.events.list({ ...ALL, fieldSelector: 'regarding.kind=Network' });
  expect(ofNetwork.items.length).toBeLessThanOrEqual(25);
});

test('emitter: what cannot be stored is left out, and the next is told', async () => {
  await using open = await openEvents();
  using emitter = anEmitter(open.events);
  armHere('cluster.events.tell=error(no)');
  tell(emitter, 'container', 'start', { name: 'web' });
  armHere('');
  tell(emitter, 'container', 'pause', { name: 'web' });
  await until('the second', () => open.events.list(ALL).items.length === 1);
});

test('happenings: each has a name, that of the engine where its event says it, and no label gives another', () => {
  const id = 'f'.repeat(32);
  const died = message('container', 'die', { name: 'web', exitCode: '1', 'berth.occurrence': id });
  expect(happeningOf(died)?.id).toBe(id);
  const started = message('container', 'start', { name: 'web', 'berth.occurrence': id });
  expect(happeningOf(started)?.id).toMatch(/^[0-9a-f]{32}$/);
  expect(happeningOf(started)?.id).not.toBe(id);
  expect(happeningOf(started)).toEqual(happeningOf(started));
});

test('emitter: what is told is audited, each of a series too, and the series says the name of the last', async () => {
  await using open = await openEvents();
  const audited: (string | undefined)[] = [];
  using emitter = new Emitter({
    events: () => open.events,
    clock: systemClock,
    log: silentLogger,
    instance: () => 'host-1',
    audit: (happening) => {
      audited.push(happening.id);
      return Promise.resolve();
    },
  });
  const [first, second] = [1, 2].map((digit) =>
    happeningOf(
      message('container', 'die', {
        name: 'web',
        exitCode: '1',
        'berth.occurrence': String(digit).repeat(32),
      }),
    ),
  );
  await emitter.tell(first!);
  await emitter.tell(second!);
  expect(audited).toEqual(['1'.repeat(32), '2'.repeat(32)]);
  const annotations = (): unknown =>
    JSON.parse(open.events.list(ALL).items[0]?.text ?? '{}').metadata?.annotations;
  expect(annotations()).toEqual({ 'berth.engine/occurrence': '1'.repeat(32) });
  await until('the series', () => Object(annotations())['berth.engine/last-occurrence'] === '2'.repeat(32));
});

test('emitter: who floods fills neither the events nor the audit', async () => {
  await using open = await openEvents();
  let audited = 0;
  using emitter = new Emitter({
    events: () => open.events,
    clock: systemClock,
    log: silentLogger,
    instance: () => 'host-1',
    audit: () => {
      audited += 1;
      return Promise.reject(new Error('no room'));
    },
  });
  const telling: Promise<void>[] = [];
  for (let count = 0; count < 1_000; count += 1) {
    const happening = happeningOf(message('container', 'die', { name: 'web', exitCode: '1' }));
    telling.push(emitter.tell(happening!));
  }
  await Promise.all(telling);
  expect(audited).toBeLessThanOrEqual(26);
  expect(open.events.list(ALL).items).toHaveLength(1);
});
