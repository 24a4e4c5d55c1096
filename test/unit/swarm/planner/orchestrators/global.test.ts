import { describe, expect, test } from 'vitest';
import type { ServiceSpec } from '../../../../../api/types/swarm/service.ts';
import { remove } from '../../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../../swarm/objects/task-state.ts';
import { nodeState, nodeWrites, serviceWrites } from '../../../../support/swarm/builders.ts';
import { PlannedCluster } from '../../../../support/swarm/planned-cluster.ts';

const nodes = ['n1', 'n2'].flatMap((id) => nodeWrites(id));
const global: ServiceSpec = { Mode: { Global: {} } };
const onEast: ServiceSpec = {
  Mode: { Global: {} },
  TaskTemplate: { Placement: { Constraints: ['node.labels.zone==east'] } },
};

describe('global', () => {
  test('11: one task per node', () => {
    const cluster = new PlannedCluster(nodes, serviceWrites('s', global));
    expect(cluster.settle().running('s')).toEqual(['n1@n1', 'n2@n2']);
    expect(cluster.written.filter(({ part }) => part === 'task')).toHaveLength(2);
  });

  test('12: a node that is added later gets one', () => {
    const cluster = new PlannedCluster(nodes, serviceWrites('s', global)).settle();
    cluster.change(...nodeWrites('n3'));
    expect(cluster.settle().running('s')).toEqual(['n1@n1', 'n2@n2', 'n3@n3']);
  });

  test('13: a paused node keeps what it has and gets none', () => {
    const cluster = new PlannedCluster(nodes, serviceWrites('s', global)).settle();
    cluster.change(...nodeWrites('n1', { Availability: 'pause' }));
    cluster.change(...nodeWrites('n3', { Availability: 'pause' }));
    expect(cluster.settle().running('s')).toEqual(['n1@n1', 'n2@n2']);
    expect(cluster.wanted('s')).toHaveLength(2);
    cluster.change(...nodeWrites('n3'));
    expect(cluster.settle().running('s')).toEqual(['n1@n1', 'n2@n2', 'n3@n3']);
  });

  test('14: a drained, lost or removed node loses its task, and gets a new one when it is back', () => {
    const cluster = new PlannedCluster(nodes, serviceWrites('s', global)).settle();
    cluster.change(...nodeWrites('n1', { Availability: 'drain' }));
    expect(cluster.settle().running('s')).toEqual(['n2@n2']);
    cluster.change(...nodeWrites('n1'));
    expect(cluster.settle().running('s')).toEqual(['n1@n1', 'n2@n2']);
    cluster.change(nodeState('n1', 'down'));
    expect(
      cluster
        .settle()
        .wanted('s')
        .map(({ record }) => record.node),
    ).toEqual(['n2']);
    cluster.change(nodeState('n1', 'ready'));
    expect(cluster.settle().running('s')).toEqual(['n1@n1', 'n2@n2']);
    cluster.change(remove('node', 'n1'), remove('nodeState', 'n1'), remove('nodeDescription', 'n1'));
    expect(cluster.settle().running('s')).toEqual(['n2@n2']);
    expect(cluster.advance(120_000).wanted('s')).toHaveLength(1);
  });

  test('15: with a constraint it follows the change of a label', () => {
    const cluster = new PlannedCluster(
      nodes,
      nodeWrites('n3', { Labels: { zone: 'east' } }),
      serviceWrites('s', onEast),
    );
    expect(cluster.settle().running('s')).toEqual(['n3@n3']);
    cluster.change(
      ...nodeWrites('n3', { Labels: { zone: 'west' } }),
      ...nodeWrites('n1', { Labels: { zone: 'east' } }),
    );
    expect(cluster.settle().advance(60_000).running('s')).toEqual(['n1@n1']);
  });

  test('a task that ended by itself under the policy none is not begun again, one that was drained is', () => {
    const none: ServiceSpec = { ...global, TaskTemplate: { RestartPolicy: { Condition: 'none' } } };
    const cluster = new PlannedCluster(nodes, serviceWrites('s', none)).settle();
    cluster.report(cluster.tasks('s')[0]?.id ?? '', TaskState.failed);
    expect(cluster.advance(60_000).running('s')).toEqual(['n2@n2']);
    cluster.change(...nodeWrites('n2', { Availability: 'drain' }));
    cluster.settle().change(...nodeWrites('n2'));
    expect(cluster.settle().advance(60_000).running('s')).toEqual(['n2@n2']);
  });
});
