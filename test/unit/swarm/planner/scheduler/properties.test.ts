import { expect, test } from 'vitest';
import { TaskState } from '../../../../../swarm/objects/task-state.ts';
import { isAlive } from '../../../../../swarm/planner/state/observed.ts';
import { nodeWrites } from '../../../../support/swarm/builders.ts';
import { ScheduledCluster } from '../../../../support/swarm/scheduled-cluster.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';

/** What has to hold for any cluster, checked by counting tasks, which is not how the scheduler does it. */
const SERVICES = ['s', 't', 'u', 'v'];
const NODES = 12;

interface Shape {
  memory: number;
  maxReplicas: number;
  zone: string;
}

function checkPass(seed: number): void {
  const random = new SeededRandom(seed);
  const cluster = new ScheduledCluster(seed);
  const memory = new Map<string, number>();
  const zones = new Map<string, string>();
  for (let index = 0; index < NODES; index += 1) {
    const id = `n${index}`;
    memory.set(id, random.below(40));
    zones.set(id, `z${random.below(3)}`);
    const Labels = { zone: zones.get(id) ?? '' };
    const Availability = random.below(5) === 0 ? 'pause' : 'active';
    cluster.apply(
      ...nodeWrites(id, { Labels, Availability }, { Resources: { MemoryBytes: memory.get(id) ?? 0 } }),
    );
  }
  const shapes = new Map<string, Shape>();
  for (const id of SERVICES) {
    const shape = { memory: random.below(4), maxReplicas: random.below(4), zone: `z${random.below(4)}` };
    shapes.set(id, shape);
    cluster.service(id, 0, {
      Resources: { Reservations: { MemoryBytes: shape.memory } },
      Placement: { MaxReplicas: shape.maxReplicas, Constraints: [`node.labels.zone!=${shape.zone}`] },
    });
  }
  const tasksOn = (node: string, service: string): number =>
    [...cluster.state.tasksOn(node)].filter((task) => isAlive(task) && task.record.service === service)
      .length;
  const usedOn = (node: string): number =>
    SERVICES.reduce((used, id) => used + tasksOn(node, id) * (shapes.get(id)?.memory ?? 0), 0);
  const takes = (node: string, service: string): boolean => {
    const shape = shapes.get(service);
    const isOpen = cluster.state.nodes.get(node)?.record?.spec.Availability === 'active';
    return (
      shape !== undefined &&
      isOpen &&
      zones.get(node) !== shape.zone &&
      usedOn(node) + shape.memory <= (memory.get(node) ?? 0) &&
      (shape.maxReplicas === 0 || tasksOn(node, service) < shape.maxReplicas)
    );
  };

  for (let pass = 0; pass < 6; pass += 1) {
    const service = SERVICES[random.below(SERVICES.length)] ?? '';
    for (const task of cluster.state.tasks.values()) {
      if (task.record.node !== undefined && random.below(6) === 0) {
        cluster.report(task.id, TaskState.complete);
      }
    }
    // Those that waited come first; what is looked at is one service alone.
    cluster.plan();
    cluster.wait(service, random.below(20));
    const given = new Set(cluster.plan().map(({ id }) => cluster.nodeOf(id)));

    for (const node of memory.keys()) {
      expect(usedOn(node), `seed ${seed}: memory of ${node}`).toBeLessThanOrEqual(memory.get(node) ?? 0);
      const isLevel = [...memory.keys()].every(
        (other) => !takes(other, service) || tasksOn(node, service) <= tasksOn(other, service) + 1,
      );
      expect(!given.has(node) || isLevel, `seed ${seed}: ${node} got a task that another should have`).toBe(
        true,
      );
    }
    for (const task of cluster.state.unassigned) {
      const able = [...memory.keys()].filter((node) => takes(node, task.record.service));
      expect(able, `seed ${seed}: ${task.id} waits though nodes take it`).toEqual([]);
      expect(task.record.refusal?.error, `seed ${seed}: ${task.id}`).toMatch(/^no suitable node/);
    }
  }
}

test('53 to 69: in 200 drawn clusters no node is overfull, tasks are level, and none waits without a cause', () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    checkPass(seed);
  }
});
