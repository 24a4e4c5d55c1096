import { armHere } from '../../support/fakes/failpoints.ts';
import { expect, test } from 'vitest';
import { EngineError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { ToldEvent } from '../../../swarm/protocol/told-events.ts';
import type { Caller, Method, RpcClient } from '../../../swarm/rpc/port.ts';
import { EventReceiver } from '../../../swarm/told-events/event-receiver.ts';
import { EventsToManagers } from '../../../swarm/told-events/events-to-managers.ts';
import type { NodeEventsListener } from '../../../swarm/told-events/ports.ts';
import { controlRig, NOBODY } from '../../support/swarm/control-rig.ts';

const EVENT: ToldEvent = {
  type: 'container',
  action: 'die',
  actor: 'c1',
  attributes: { name: 'web', exitCode: '3' },
  timeNano: '1767225600000000001',
};

// All that is looked at of an identity is its node.
const CALLER = { identity: { node: 'n1', role: 'worker' }, address: '10.0.0.2' } as unknown as Caller;

async function receiver(told: NodeEventsListener | undefined): Promise<(body: unknown) => Promise<unknown>> {
  const rig = await controlRig();
  const [method] = new EventReceiver({ cluster: rig.context.cluster, told }).methods as [Method];
  expect([method.name, method.allowed]).toEqual(['events.tell', 'node']);
  return async (body) => {
    if (method.kind !== 'call') {
      throw new Error('events.tell is no call');
    }
    return await method.handle(body, CALLER, NOBODY);
  };
}

test('events of nodes: taken with who tells them, and answered when they are durable', async () => {
  const told: unknown[] = [];
  const tell = await receiver((node, events) => {
    told.push([node, events]);
    return Promise.resolve();
  });
  expect(await tell({ events: [EVENT] })).toEqual({});
  expect(told).toEqual([[{ id: 'n1', name: 'n1' }, [EVENT]]]);
});

test.each<[string, unknown, string]>([
  ['no list', { events: 'all' }, 'events is no list'],
  [
    'too many',
    { events: Array.from({ length: limits.swarmToldEventsMax + 1 }, () => EVENT) },
    'events is no list',
  ],
  [
    'an object of the swarm',
    { events: [{ ...EVENT, type: 'node' }] },
    'type: a node has no events of "node"',
  ],
  ['no time', { events: [{ ...EVENT, timeNano: 'now' }] }, 'timeNano is no time'],
  ['no text', { events: [{ ...EVENT, actor: 7 }] }, 'actor is no text'],
  ['no attributes', { events: [{ ...EVENT, attributes: null }] }, 'attributes is no object'],
  ['an attribute that is no text', { events: [{ ...EVENT, attributes: { name: 1 } }] }, 'name is no text'],
  [
    'a long text',
    { events: [{ ...EVENT, action: 'x'.repeat(limits.swarmToldTextMax + 1) }] },
    `action: ${limits.swarmToldTextMax + 1} characters`,
  ],
  [
    'many attributes',
    {
      events: [
        { ...EVENT, attributes: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`a${n}`, ''])) },
      ],
    },
    'attributes: 17, at most 16 are taken',
  ],
])('events of nodes: %s is refused', async (_title, body, message) => {
  const tell = await receiver(() => Promise.reject(new Error('it is told')));
  await expect(tell(body)).rejects.toThrow(message);
});

test('events of nodes: a manager without the interface says so', async () => {
  const tell = await receiver(undefined);
  await expect(tell({ events: [EVENT] })).rejects.toThrow('this manager has no cluster interface');
  const taken = await receiver(() => Promise.resolve());
  armHere('swarm.events.told=error(cut off)');
  await expect(taken({ events: [EVENT] })).rejects.toThrow('cut off');
  armHere('');
});

test('telling managers: the next is asked where one does not take it, and what each said is told', async () => {
  const asked: string[] = [];
  const takers = new Set<string>(['b:1']);
  const dial = (addr: string): RpcClient =>
    // Nothing else of it is used.
    ({
      addr,
      call: async () => {
        asked.push(addr);
        if (!takers.has(addr)) {
          throw new EngineError('unavailable', 'busy');
        }
        return await Promise.resolve({});
      },
      [Symbol.dispose]: () => undefined,
    }) as unknown as RpcClient;
  const events = new EventsToManagers();
  await expect(events.tell([EVENT], NOBODY)).rejects.toThrow('no manager is known');
  const managers = ['a:1', 'b:1', 'c:1'].map((addr) => ({ node: addr, addr, weight: 1 }));
  events.join({ managers: () => managers, dial });
  await events.tell([EVENT], NOBODY);
  expect(asked).toEqual(['a:1', 'b:1']);
  takers.clear();
  await expect(events.tell([EVENT], NOBODY)).rejects.toThrow(
    'events of this node are not told: manager a:1: busy; manager b:1: busy; manager c:1: busy',
  );
  armHere('swarm.events.tell=error(no way)');
  await expect(events.tell([EVENT], NOBODY)).rejects.toThrow(
    'manager a:1: failpoint swarm.events.tell: no way',
  );
  armHere('');
});
