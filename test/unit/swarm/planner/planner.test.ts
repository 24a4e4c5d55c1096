import { expect, test } from 'vitest';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import { nodeWrites, serviceWrites } from '../../../support/swarm/builders.ts';
import { PlannedCluster } from '../../../support/swarm/planned-cluster.ts';

const cluster = (size: number): PlannedCluster =>
  new PlannedCluster(
    Array.from({ length: size }, (_, index) => nodeWrites(`n${index}`)).flat(),
    Array.from({ length: size }, (_, index) => serviceWrites(`s${index}`)).flat(),
  ).settle();

/** How often records of tasks and nodes are looked at while `work` goes on. */
function visitsDuring(of: PlannedCluster, work: () => void): number {
  let visits = 0;
  for (const entry of [...of.state.tasks.values(), ...of.state.nodes.values()]) {
    let { record } = entry;
    Object.defineProperty(entry, 'record', {
      get: () => {
        visits += 1;
        return record;
      },
      set: (value: typeof record) => {
        record = value;
      },
    });
  }
  work();
  return visits;
}

test('what a failed task costs does not grow with the cluster', () => {
  const [small, large] = [10, 100].map((size) => {
    const of = cluster(size);
    return visitsDuring(of, () => of.report(of.tasks('s1')[0]?.id ?? '', TaskState.failed));
  });
  expect(small).toBeLessThan(100);
  expect(large).toBe(small);
});

test('a task without trouble is written three times in its life, and then deleted', () => {
  const of = cluster(3);
  of.behaviour = () => undefined;
  const before = of.written.length;
  for (let index = 0; index < 3; index += 1) {
    of.change(...serviceWrites(`s${index}`, { Mode: { Replicated: { Replicas: 0 } } }));
  }
  // Created with its node, reported running, and now: wanted removed.
  expect(of.written.slice(before).map(({ part }) => part)).toEqual(Array.from({ length: 9 }, () => 'task'));
  expect(of.written.slice(0, before).filter(({ part }) => part === 'task')).toHaveLength(9);
});
