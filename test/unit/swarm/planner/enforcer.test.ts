import { describe, expect, test } from 'vitest';
import type { NodeSpec } from '../../../../api/types/swarm/node.ts';
import type { ServiceSpec } from '../../../../api/types/swarm/service.ts';
import type { Write } from '../../../../swarm/objects/parts.ts';
import { nodeWrites, serviceWrites } from '../../../support/swarm/builders.ts';
import { PlannedCluster } from '../../../support/swarm/planned-cluster.ts';

const MIB = 1024 * 1024;
const node = (id: string, zone: string, memoryMiB = 1024, more: Partial<NodeSpec> = {}): Write[] =>
  nodeWrites(
    id,
    { Labels: { zone }, ...more },
    { Resources: { MemoryBytes: memoryMiB * MIB, NanoCPUs: 4e9 } },
  );
const spec = (constraint: string, memoryMiB = 0, replicas = 2): ServiceSpec => ({
  Mode: { Replicated: { Replicas: replicas } },
  TaskTemplate: {
    Placement: { Constraints: [constraint] },
    Resources: { Reservations: { MemoryBytes: memoryMiB * MIB } },
  },
});
const nodesOf = (cluster: PlannedCluster): (string | undefined)[] =>
  cluster.running('s').map((each) => each.split('@')[1]);

describe('enforcer', () => {
  test('74: a label is removed: the tasks are rejected, told why, and moved', () => {
    const cluster = new PlannedCluster(
      node('n1', 'east'),
      serviceWrites('s', spec('node.labels.zone==east')),
    ).settle();
    cluster.change(...node('n2', 'east'), ...node('n1', ''));
    const old = cluster.tasks('s').slice(0, 2);
    expect(old.map(({ status }) => [status?.state, status?.message, status?.error])).toEqual(
      old.map(() => [
        768,
        'task rejected by constraint enforcer',
        'assigned node no longer meets constraints',
      ]),
    );
    expect(nodesOf(cluster.advance(10_000))).toEqual(['n2', 'n2']);
  });

  test("75: the service's constraints count, not those that the task was made with", () => {
    const cluster = new PlannedCluster(
      node('n1', 'east'),
      serviceWrites('s', spec('node.labels.zone==east')),
    ).settle();
    // Other constraints that hold as well: no task is replaced, but from now on these are what counts.
    const wider = serviceWrites('s', spec('node.labels.zone!=west'), { template: 2, templatesIssued: 2 });
    cluster.change(...wider);
    cluster.change(...node('n1', 'north'));
    expect(nodesOf(cluster.advance(60_000))).toEqual(['n1', 'n1']);
    cluster.change(...node('n1', 'west'));
    expect(nodesOf(cluster.advance(60_000))).toEqual([]);
  });

  test('76: memory taken away: as many tasks go as no longer fit', () => {
    const cluster = new PlannedCluster(
      node('n1', 'east'),
      serviceWrites('s', spec('node.labels.zone==east', 400)),
    ).settle();
    expect(nodesOf(cluster)).toEqual(['n1', 'n1']);
    cluster.change(...node('n2', 'east'), ...node('n1', 'east', 512));
    expect(new Set(nodesOf(cluster.advance(10_000)))).toEqual(new Set(['n1', 'n2']));
  });

  test.each([
    [
      'counted',
      [{ DiscreteResourceSpec: { Kind: 'gpu', Value: 2 } }],
      [{ DiscreteResourceSpec: { Kind: 'gpu', Value: 1 } }],
    ],
    [
      'named',
      [
        { NamedResourceSpec: { Kind: 'gpu', Value: 'a' } },
        { NamedResourceSpec: { Kind: 'gpu', Value: 'b' } },
      ],
      [{ NamedResourceSpec: { Kind: 'gpu', Value: 'b' } }],
    ],
  ])('76: generic resources taken away, %s: the task that had them goes', (_what, both, left) => {
    const cluster = new PlannedCluster(
      nodeWrites('n1', {}, { Resources: { GenericResources: both } }),
      serviceWrites('s', {
        Mode: { Replicated: { Replicas: 2 } },
        TaskTemplate: {
          Resources: {
            Reservations: { GenericResources: [{ DiscreteResourceSpec: { Kind: 'gpu', Value: 1 } }] },
          },
        },
      }),
    ).settle();
    expect(nodesOf(cluster)).toEqual(['n1', 'n1']);
    cluster.change(...nodeWrites('n1', {}, { Resources: { GenericResources: left } }));
    expect(cluster.tasks('s').filter(({ status }) => status?.state === 768)).toHaveLength(1);
    expect(nodesOf(cluster.advance(10_000))).toEqual(['n1']);
    const waiting = cluster.wanted('s').find(({ record }) => record.node === undefined);
    expect(waiting?.record.refusal?.error).toBe('no suitable node (insufficient resources on 1 node)');
  });

  test('on a paused node everything stays', () => {
    const cluster = new PlannedCluster(
      node('n1', 'east'),
      serviceWrites('s', spec('node.labels.zone==east')),
    ).settle();
    cluster.change(...node('n1', 'west', 1, { Availability: 'pause' }));
    expect(nodesOf(cluster.advance(60_000))).toEqual(['n1', 'n1']);
  });
});
