import { expect, test } from 'vitest';
import { notFound } from '../../../../daemon/base/errors.ts';
import { EnginePlaces } from '../../../../daemon/boot/cluster/engine-places.ts';
import type { TargetGroup } from '../../../../daemon/cluster/targets/groups/target-group.ts';

type Ports = ConstructorParameters<typeof EnginePlaces>[0];

// What a place is found by.
const GROUP = { id: 'tg-1', name: 'web', type: 'INSTANCE', config: { port: 80 } } as unknown as TargetGroup;

function none(): never {
  throw notFound('there is none');
}

test('a task that its managers do not call running yet is found by its container', async () => {
  const container = {
    Id: 'c1',
    State: { Running: true },
    HostConfig: { NetworkMode: 'bridge' },
    NetworkSettings: { Networks: { bridge: { NetworkID: 'n1', IPAddress: '172.17.0.2' } } },
  };
  // Only what is asked is there.
  const ports = {
    containers: {
      inspect: (ref: string) => (ref === 'c1' ? Promise.resolve(container) : none()),
      list: ({ filters }: { filters: ReadonlyMap<string, readonly string[]> }) =>
        Promise.resolve(filters.get('label')?.[0] === 'com.docker.swarm.task.id=t1' ? [{ Id: 'c1' }] : []),
    },
    networks: { inspect: () => Promise.resolve({ Id: 'n1', Scope: 'local' }) },
    swarm: {
      tasks: { inspect: () => Promise.resolve({ Status: { State: 'starting', PortStatus: {} } }) },
      nodes: { inspect: none },
    },
  } as unknown as Ports;
  const places = new EnginePlaces(ports);
  const target = { group: 'tg-1', id: 't1', port: 80, registeredMs: 0 };
  expect(await places.find(GROUP, target)).toEqual({ host: '172.17.0.2' });
  expect(await places.find(GROUP, { ...target, id: 't2' })).toBeUndefined();
});
