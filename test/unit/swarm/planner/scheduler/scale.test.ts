import { expect, test } from 'vitest';
import { put, type Write } from '../../../../../swarm/objects/parts.ts';
import { Scheduler } from '../../../../../swarm/planner/scheduler/scheduler.ts';
import { ClusterState } from '../../../../../swarm/planner/state/cluster-state.ts';
import { processorTime } from '../../../../support/processor-time.ts';
import { nodeWrites, serviceWrites, taskRecord } from '../../../../support/swarm/builders.ts';

/**
 * Bounds against a planner that slows down with what it has placed; ten times what an idle machine needs. The figures
 * are printed.
 */
const NODES = 1000;
const TASKS = 30_000;

function clusterOfNodes(): ClusterState {
  const state = new ClusterState();
  for (let index = 0; index < NODES; index += 1) {
    const zone = `z${index % 5}`;
    nodeWrites(
      `node${index}`,
      { Labels: { zone } },
      { Resources: { NanoCPUs: 64e9, MemoryBytes: 2 ** 38 } },
    ).forEach((write) => state.apply(write));
  }
  return state;
}

const TEMPLATE = {
  Resources: { Reservations: { NanoCPUs: 1e8, MemoryBytes: 2 ** 26 } },
  Placement: { Constraints: ['node.role==worker', 'node.labels.zone!=z9'] },
};

/** Milliseconds of the processor that the passes take, one for each service. */
function passes(services: number, template: object): number[] {
  const state = clusterOfNodes();
  const scheduler = new Scheduler(1);
  const each = TASKS / services;
  scheduler.plan(state, 0);
  const times: number[] = [];
  for (let service = 0; service < services; service += 1) {
    const id = `service${service}`;
    const writes: Write[] = serviceWrites(id, { TaskTemplate: template });
    for (let slot = 1; slot <= each; slot += 1) {
      writes.push(put('task', taskRecord(`task${service}.${slot}`, id, { slot })));
    }
    writes.forEach((write) => state.apply(write));
    const tookMs = processorTime();
    const plan = scheduler.plan(state, 1);
    times.push(tookMs());
    plan.forEach((write) => state.apply(write));
  }
  expect(state.unassigned.size).toBe(0);
  const loads = [...state.nodes.values()].map(({ tasks }) => tasks.size);
  expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1);
  return times;
}

const sum = (times: readonly number[]): number => times.reduce((total, time) => total + time, 0);

test.each([
  ['30 services of 1,000 tasks', 30, TEMPLATE],
  ['3,000 services of 10 tasks', 3000, TEMPLATE],
  [
    '3,000 services of 10 tasks, spread over 5 zones',
    3000,
    { Placement: { Preferences: [{ Spread: { SpreadDescriptor: 'node.labels.zone' } }] } },
  ],
])(
  '%s on 1,000 nodes take less than 5 s, and the last no longer than the first',
  (title, services, template) => {
    // Until the code is compiled, all of it is slow.
    passes(services, template);
    const times = passes(services, template);
    const tenth = services / 10;
    const [first, last] = [sum(times.slice(0, tenth)), sum(times.slice(-tenth))];
    console.log(
      `${title}: ${sum(times).toFixed(0)} ms; first tenth ${first.toFixed(1)}, last ${last.toFixed(1)}`,
    );
    expect(sum(times)).toBeLessThan(5000);
    expect(last).toBeLessThan(5 * first + 100);
  },
);

test('30,000 tasks of 3,000 services that wait at once are one pass', () => {
  const state = clusterOfNodes();
  for (let service = 0; service < 3000; service += 1) {
    serviceWrites(`s${service}`, { TaskTemplate: TEMPLATE }).forEach((write) => state.apply(write));
    for (let slot = 1; slot <= 10; slot += 1) {
      state.apply(put('task', taskRecord(`t${service}.${slot}`, `s${service}`, { slot })));
    }
  }
  const tookMs = processorTime();
  const plan = new Scheduler(1).plan(state, 1);
  console.log(`30,000 tasks at once: ${tookMs().toFixed(0)} ms`);
  expect(plan).toHaveLength(TASKS);
  expect(tookMs()).toBeLessThan(5000);
});
