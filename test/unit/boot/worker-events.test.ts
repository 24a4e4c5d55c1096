import { expect, test } from 'vitest';
import type { EventMessage } from '../../../api/types/system.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { NodeEvents, nodeHappening } from '../../../daemon/boot/cluster/telling/node-events.ts';
import { WorkerEvents } from '../../../daemon/boot/cluster/telling/worker-events.ts';
import type { Happening } from '../../../daemon/cluster/events/emit/happening.ts';
import type { ToldEvent } from '../../../swarm/protocol/told-events.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';

const ID = '0123456789abcdef0123456789abcdef';

function died(name: string): EventMessage {
  const Attributes = { name, exitCode: '3', image: 'busybox', secret: 'x', 'berth.occurrence': ID };
  return {
    Type: 'container',
    Action: 'die',
    Actor: { ID: `id-${name}`, Attributes },
    scope: 'local',
    time: 0,
    timeNano: BigInt(Date.now()) * 1_000_000n,
  };
}

function rig() {
  const clock = new ManualClock();
  const told: ToldEvent[][] = [];
  const state = { isWorker: true, isAway: false };
  const end = new AbortController();
  const workers = new WorkerEvents({
    managers: {
      tell: (events) => {
        if (state.isAway) {
          return Promise.reject(new Error('nobody answers'));
        }
        told.push([...events]);
        return Promise.resolve();
      },
    },
    isWorker: () => state.isWorker,
    clock,
    log: silentLogger,
    signal: end.signal,
  });
  return { clock, told, state, workers };
}

test('a worker tells managers what its events are made of, those of a moment together', async () => {
  const { clock, told, workers } = rig();
  const all = Promise.all([workers.tell(died('a')), workers.tell(died('b'))]);
  await clock.advance(limits.clusterTellWaitMs);
  await all;
  expect(told).toHaveLength(1);
  expect(told[0]?.map(({ actor }) => actor)).toEqual(['id-a', 'id-b']);
  expect(told[0]?.[0]?.attributes).toEqual({ name: 'a', exitCode: '3', 'berth.occurrence': ID });
});

test('a worker tells again what no manager has taken, in order', async () => {
  const { clock, told, state, workers } = rig();
  state.isAway = true;
  const first = workers.tell(died('a'));
  await clock.advance(limits.clusterTellWaitMs);
  const second = workers.tell(died('b'));
  state.isAway = false;
  await clock.advance(limits.clusterWorkerRetryMs);
  await Promise.all([first, second]);
  expect(told.flat().map(({ actor }) => actor)).toEqual(['id-a', 'id-b']);
});

test('a worker that is none any more gives up what it could not tell', async () => {
  const { clock, told, state, workers } = rig();
  state.isAway = true;
  const telling = workers.tell(died('a'));
  await clock.advance(limits.clusterTellWaitMs);
  state.isWorker = false;
  await clock.advance(limits.clusterWorkerRetryMs);
  await telling;
  expect(told).toEqual([]);
});

function event(more: Partial<ToldEvent> = {}): ToldEvent {
  return {
    type: 'container',
    action: 'die',
    actor: 'c1',
    attributes: { name: 'web', exitCode: '3', 'berth.occurrence': ID },
    timeNano: String(BigInt(Date.now()) * 1_000_000n),
    ...more,
  };
}

test('what a worker tells is an event of that node, by the name that its engine has for it', () => {
  expect(nodeHappening({ id: 'n2', name: 'worker-2' }, event())).toMatchObject({
    id: ID,
    instance: 'worker-2',
    reason: 'Failed',
    regarding: { kind: 'Container', name: 'web', uid: 'c1' },
    audited: { node: 'worker-2' },
  });
  expect(nodeHappening({ id: 'n2', name: 'worker-2' }, event({ action: 'exec_die' }))).toBeUndefined();
});

test('a manager takes what nodes tell when it is durable, not while it cannot, and nothing of long ago', async () => {
  const nodes = new NodeEvents();
  const node = { id: 'n2', name: 'worker-2' };
  await expect(nodes.take(node, [event()])).rejects.toThrow('cannot tell more now');
  const told: Happening[] = [];
  const telling = {
    isBusy: false,
    tell: () => undefined,
    told: (happening: Happening) => {
      told.push(happening);
      return Promise.resolve();
    },
  };
  nodes.open(telling);
  await nodes.take(node, [event(), event({ timeNano: '1' })]);
  expect(told).toHaveLength(1);
  telling.isBusy = true;
  await expect(nodes.take(node, [event()])).rejects.toThrow('cannot tell more now');
});
