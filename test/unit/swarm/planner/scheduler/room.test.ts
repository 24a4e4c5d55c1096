import { expect, test } from 'vitest';
import type { NodeDescription } from '../../../../../api/types/swarm/node.ts';
import type { GenericResource, ResourceAmounts, TaskSpec } from '../../../../../api/types/swarm/task.ts';
import { put } from '../../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../../swarm/objects/task-state.ts';
import { nodeWrites } from '../../../../support/swarm/builders.ts';
import { ScheduledCluster } from '../../../../support/swarm/scheduled-cluster.ts';

function clusterOf(nodes: Record<string, NodeDescription>): ScheduledCluster {
  const cluster = new ScheduledCluster();
  for (const [id, description] of Object.entries(nodes)) {
    cluster.apply(...nodeWrites(id, {}, description));
  }
  return cluster;
}

const has = (Resources: ResourceAmounts): NodeDescription => ({ Resources });
const reserves = (Reservations: ResourceAmounts): TaskSpec => ({ Resources: { Reservations } });
const gpu = (...values: string[]): GenericResource[] =>
  values.map((Value) => ({ NamedResourceSpec: { Kind: 'gpu', Value } }));
const gpus = (Value: number): GenericResource[] => [{ DiscreteResourceSpec: { Kind: 'gpu', Value } }];

const publishing = (Protocol: 'tcp' | 'udp', PublishedPort: number) => ({
  EndpointSpec: { Ports: [{ Protocol, TargetPort: 80, PublishedPort, PublishMode: 'host' as const }] },
});

test('59: reserved processors and memory fill a node, and are free again when a task has ended', () => {
  const cluster = clusterOf({
    a: has({ NanoCPUs: 2e9, MemoryBytes: 1000 }),
    b: has({ NanoCPUs: 9e9, MemoryBytes: 500 }),
  });
  cluster.service('s', 5, reserves({ NanoCPUs: 1e9, MemoryBytes: 250 }));
  cluster.plan();
  expect(cluster.spread('s')).toBe('a:2 b:2');
  expect(cluster.errorOf('s5')).toBe('no suitable node (insufficient resources on 2 nodes)');
  // Shutting down still holds.
  cluster.change('s1', { desired: TaskState.shutdown });
  cluster.plan();
  expect(cluster.nodeOf('s5')).toBeUndefined();
  cluster.report('s1', TaskState.shutdown);
  cluster.plan();
  expect(cluster.nodeOf('s5')).toBe(cluster.nodeOf('s1'));
});

test('59: a limit reserves nothing', () => {
  const cluster = clusterOf({ a: has({ NanoCPUs: 1e9, MemoryBytes: 1000 }) });
  cluster.service('s', 3, { Resources: { Limits: { NanoCPUs: 1e9, MemoryBytes: 1000 } } });
  cluster.plan();
  expect(cluster.spread('s')).toBe('a:3');
});

test('60: dead tasks hold nothing, also for a scheduler that has only just begun', () => {
  const cluster = clusterOf({ a: has({ MemoryBytes: 100 }) });
  cluster.service('s', 0, reserves({ MemoryBytes: 100 }));
  cluster.running('s', 'a', 1);
  cluster.report('s1', TaskState.failed);
  cluster.wait('s', 1);
  cluster.plan();
  expect(cluster.nodeOf('s2')).toBe('a');
});

test('61: named generic resources go by name to one task each, and come back', () => {
  const cluster = clusterOf({ a: has({ GenericResources: gpu('x', 'y', 'z') }) });
  cluster.service('s', 2, reserves({ GenericResources: gpus(2) }));
  cluster.plan();
  expect(cluster.state.tasks.get('s1')?.record.generic).toEqual(gpu('x', 'y'));
  expect(cluster.errorOf('s2')).toBe('no suitable node (insufficient resources on 1 node)');
  cluster.report('s1', TaskState.complete);
  cluster.plan();
  expect(cluster.state.tasks.get('s2')?.record.generic).toEqual(gpu('x', 'y'));
});

test('61: discrete generic resources are counted, and a task that comes back from the store holds its share', () => {
  const cluster = clusterOf({ a: has({ GenericResources: gpus(3) }) });
  cluster.service('s', 0, reserves({ GenericResources: gpus(2) }));
  cluster.apply(
    put('task', {
      id: 'old',
      service: 's',
      slot: 9,
      template: 1,
      desired: TaskState.running,
      created: 0,
      updated: 0,
      node: 'a',
      generic: gpus(2),
    }),
  );
  cluster.wait('s', 1);
  cluster.plan();
  expect(cluster.errorOf('s2')).toBe('no suitable node (insufficient resources on 1 node)');
  cluster.apply(...nodeWrites('a', {}, has({ GenericResources: gpus(4) })));
  cluster.plan();
  expect(cluster.state.tasks.get('s2')?.record.generic).toEqual(gpus(2));
});

test('63: an image of another platform is told, and one of any of several is placed', () => {
  const cluster = clusterOf({ a: { Platform: { Architecture: 'aarch64', OS: 'linux' } } });
  const amd64 = { Architecture: 'amd64', OS: 'linux' };
  cluster.service('s', 1, { Placement: { Platforms: [amd64] } });
  cluster.service('t', 1, { Placement: { Platforms: [amd64, { Architecture: 'arm64', OS: 'linux' }] } });
  cluster.plan();
  expect([cluster.errorOf('s1'), cluster.nodeOf('t1')]).toEqual([
    'no suitable node (unsupported platform on 1 node)',
    'a',
  ]);
  cluster.apply(...nodeWrites('b', {}, { Platform: { Architecture: 'x86_64', OS: 'linux' } }));
  cluster.plan();
  expect(cluster.nodeOf('s1')).toBe('b');
});

test('64: a missing plugin is told', () => {
  const cluster = clusterOf({ a: { Engine: { Plugins: [{ Type: 'Volume', Name: 'local' }] } } });
  cluster.service('s', 1, {
    ContainerSpec: {
      Mounts: [
        { Type: 'volume', Target: '/d', Source: 'v', VolumeOptions: { DriverConfig: { Name: 'nfs' } } },
      ],
    },
  });
  cluster.plan();
  expect(cluster.errorOf('s1')).toBe('no suitable node (missing plugin on 1 node)');
});

test('64: the network of a task and the log driver of the swarm are asked for', () => {
  const cluster = clusterOf({ a: { Engine: { Plugins: [{ Type: 'Log', Name: 'json-file' }] } } });
  const network = { created: 0, updated: 0, labels: {}, ingress: false, attachable: false };
  cluster.apply(put('network', { ...network, id: 'net', name: 'net', driver: 'macvlan' }));
  cluster.service('s', 1, { Networks: [{ Target: 'net' }] });
  cluster.service('t', 1);
  cluster.plan();
  expect([cluster.errorOf('s1'), cluster.nodeOf('t1')]).toEqual([
    'no suitable node (missing plugin on 1 node)',
    'a',
  ]);
});

test('65: a host port is held by one task of a node, per protocol', () => {
  const cluster = clusterOf({ a: {}, b: {} });
  cluster.service('s', 3, {}, publishing('tcp', 8080));
  cluster.service('t', 2, {}, publishing('udp', 8080));
  cluster.service('u', 9, {}, publishing('tcp', 0));
  cluster.plan();
  expect([cluster.spread('s'), cluster.spread('t'), cluster.spread('u').replace(/\d/g, 'n')]).toEqual([
    'a:1 b:1',
    'a:1 b:1',
    'a:n b:n',
  ]);
  expect(cluster.errorOf('s3')).toBe('no suitable node (host-mode port already in use on 2 nodes)');
  cluster.report('s1', TaskState.failed);
  cluster.plan();
  expect(cluster.nodeOf('s3')).toBe(cluster.nodeOf('s1'));
});

test('66: no node has more than the most replicas of one service', () => {
  const cluster = clusterOf({ a: {}, b: {} });
  cluster.service('s', 5, { Placement: { MaxReplicas: 2 } });
  cluster.plan();
  expect(cluster.spread('s')).toBe('a:2 b:2');
  expect(cluster.errorOf('s5')).toBe('no suitable node (max replicas per node limit exceed)');
  cluster.change('s1', { desired: TaskState.shutdown });
  cluster.plan();
  expect(cluster.nodeOf('s5')).toBe(cluster.nodeOf('s1'));
});
