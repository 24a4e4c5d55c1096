/**
 * `npm run simulate -- --seed 1 --nodes 1000 --tasks 30000 --steps 200 --runs 1`: managers of a swarm as they are
 * (leader, dispatcher, planner) in one process, with simulated nodes, a store in memory, virtual time and faults. The
 * same seed gives the same run. When something goes wrong it prints the last 50 events, the seed, the fewest steps that
 * were found to do, and what is wrong. `--time` measures the planner alone instead, with `--etcd`
 * the leader and the dispatcher on a real store. `--memory` measures what a manager and its etcd take, a daemon from
 * dist/ whose nodes are another process: needs root.
 */
import { parseArgs } from 'node:util';
import { measureMemory } from './simulate/memory.ts';
import { simulate } from './simulate/run.ts';
import { shrink } from './simulate/shrink.ts';
import { timeWithEtcd } from './simulate/time-etcd.ts';
import { timePlanner } from './simulate/time.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    nodes: { type: 'string', default: '20' },
    tasks: { type: 'string', default: '200' },
    steps: { type: 'string', default: '200' },
    runs: { type: 'string', default: '1' },
    time: { type: 'boolean', default: false },
    etcd: { type: 'boolean', default: false },
    memory: { type: 'boolean', default: false },
  },
});

const SHRINKING_RUNS_MAX = 200;

const FULL_SIZE = { nodes: 1000, services: 30, tasks: 1000 };

if (values.memory) {
  const size = { nodes: Number(values.nodes), tasks: Number(values.tasks) };
  (await measureMemory(size)).forEach((line) => console.log(line));
} else if (values.time) {
  const lines = values.etcd ? await timeWithEtcd(FULL_SIZE) : timePlanner(FULL_SIZE);
  lines.forEach((line) => console.log(line));
} else {
  for (let run = 0; run < Number(values.runs) && process.exitCode === undefined; run += 1) {
    await runOnce(Number(values.seed) + run);
  }
}

async function runOnce(seed: number): Promise<void> {
  const options = {
    seed,
    nodes: Number(values.nodes),
    tasks: Number(values.tasks),
    steps: Number(values.steps),
  };
  const start = performance.now();
  const outcome = await simulate(options);
  console.log(
    `seed ${seed}: ${outcome.events} events in ${Math.round(performance.now() - start)} ms, ` +
      `${outcome.tasksMade} tasks made, ` +
      `${outcome.looks} addresses and ports given, ${outcome.transactions} transactions, ` +
      `${outcome.writesPerTask.toFixed(2)} writes per task, ${outcome.broken.length} wrong`,
  );
  if (outcome.broken.length === 0) {
    return;
  }
  const isBroken = async (fewer: typeof outcome.steps): Promise<boolean> =>
    (await simulate(options, fewer)).broken.length > 0;
  const steps = await shrink(outcome.steps, isBroken, SHRINKING_RUNS_MAX);
  const smallest = await simulate(options, steps);
  console.log(smallest.trace.join('\n'));
  console.log(`seed ${seed}, steps:\n${steps.map((step) => JSON.stringify(step)).join('\n')}`);
  console.log(smallest.broken.slice(0, 20).join('\n'));
  process.exitCode = 1;
}
