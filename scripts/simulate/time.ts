import type { Write } from '../../swarm/objects/parts.ts';
import { encodePart } from '../../swarm/objects/codec.ts';
import { Planner } from '../../swarm/planner/planner.ts';
import { Scheduler } from '../../swarm/planner/scheduler/scheduler.ts';
import { ClusterState } from '../../swarm/planner/state/cluster-state.ts';
import { nodeWrites, serviceWrites } from '../../test/support/swarm/builders.ts';
import { SeededRandom } from '../../test/support/seeded-random.ts';

const NOW = 1_000_000;

/** How long the planner takes to make, place and encode the tasks of a large cluster; lines to print. */
export function timePlanner(size: { nodes: number; services: number; tasks: number }): string[] {
  const planner = new Planner(new ClusterState(), new SeededRandom(1), new Scheduler(1));
  for (let node = 0; node < size.nodes; node += 1) {
    nodeWrites(`n${node}`).forEach((write) => planner.observe(write));
  }
  planner.plan(NOW);
  const times: number[] = [];
  let writes = 0;
  let bytes = 0;
  const create = (id: string, replicas: number): void => {
    const start = performance.now();
    serviceWrites(id, { Mode: { Replicated: { Replicas: replicas } } }).forEach((write) =>
      planner.observe(write),
    );
    const plan = planner.plan(NOW);
    bytes += plan.writes.reduce((total, write) => total + sizeOf(write), 0);
    times.push(performance.now() - start);
    writes += plan.writes.filter((write) => write.part === 'task' && write.value?.node !== undefined).length;
  };
  for (let service = 0; service < size.services; service += 1) {
    create(`s${service}`, size.tasks);
  }
  const tenth = Math.ceil(size.services / 10);
  const [all, first, last] = [times, times.slice(0, tenth), times.slice(-tenth)].map(sum);
  create('more', 10);
  return [
    `${size.services * size.tasks} tasks on ${size.nodes} nodes assigned: ${all?.toFixed(0)} ms`,
    `first tenth ${first?.toFixed(0)} ms, last tenth ${last?.toFixed(0)} ms`,
    `10 more tasks: ${times.at(-1)?.toFixed(1)} ms`,
    `${writes} writes of ${(bytes / writes).toFixed(0)} bytes`,
    `${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB resident`,
  ];
}

function sum(list: readonly number[]): number {
  return list.reduce((total, each) => total + each, 0);
}

function sizeOf(write: Write): number {
  return write.part === 'task' && write.value !== null ? encodePart('task', write.value).length : 0;
}
