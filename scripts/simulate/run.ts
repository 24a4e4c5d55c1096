import { clusterWrite, networkWrite } from '../../test/support/swarm/builders.ts';
import { SeededRandom } from '../../test/support/seeded-random.ts';
import { AddressOracle } from './address-oracle.ts';
import { brokenInvariants } from './invariants.ts';
import { addNetwork } from './network-steps.ts';
import { SimulatedManager } from './manager.ts';
import { addNode, addService, drawSteps, perform, type Step } from './steps.ts';
import { World } from './world.ts';

export interface SimulationOptions {
  seed: number;
  nodes: number;
  tasks: number;
  steps: number;
}

interface Outcome {
  broken: string[];
  steps: Step[];
  /** The last 50 events. */
  trace: readonly string[];
  events: number;
  transactions: number;
  tasksMade: number;
  /** How often an address or a published port was given, and looked at. */
  looks: number;
  /** Puts of tasks and statuses, per task made. */
  writesPerTask: number;
}

const MANAGERS = 3;
const NETWORKS = 3;
const ELECTION_MS = 1_000;
const BEGIN_MS = 60_000;
const FAULTS_MS = 240_000;
/** The longest that something waits by itself is a minute; some things wait for others. Then nothing is written. */
const QUIET_MS = 1_200_000;
const IDLE_MS = 300_000;
const TASKS_PER_SERVICE = 100;

/** One run: a cluster is built, then come steps with their faults, then quiet, then the invariants are looked at. */
export async function simulate(options: SimulationOptions, steps = stepsOf(options)): Promise<Outcome> {
  const world = new World(options.seed);
  const { queue, store } = world;
  await store.open(queue);
  const oracle = new AddressOracle(world);
  store.write([clusterWrite(), networkWrite('ingress', ['10.0.0.0/16'])]);
  for (let index = 0; index < MANAGERS; index += 1) {
    startManager(world, index);
  }
  await queue.runUntil(queue.now + ELECTION_MS);
  const begin = queue.now;
  const random = new SeededRandom(options.seed + 1);
  for (let node = 0; node < options.nodes; node += 1) {
    addNode(world, random, `n${node}`);
  }
  for (let network = 0; network < NETWORKS; network += 1) {
    addNetwork(world, random);
  }
  await queue.runUntil(queue.now);
  for (let left = options.tasks; left > 0; left -= TASKS_PER_SERVICE) {
    addService(world, random, `first${left}`, Math.min(left, TASKS_PER_SERVICE));
  }
  for (const step of steps) {
    queue.after(BEGIN_MS + step.atMs, () => perform(world, step));
  }
  watchManagers(world);
  await queue.runUntil(begin + BEGIN_MS + FAULTS_MS);
  calm(world);
  await queue.runUntil(queue.now + QUIET_MS);
  const { transactions } = store;
  await queue.runUntil(queue.now + IDLE_MS);
  const puts = [...store.putsOfTask.values()];
  return {
    broken: [
      ...brokenInvariants(world),
      ...(transactions === store.transactions
        ? []
        : [`${store.transactions - transactions} transactions though nothing happens`]),
    ],
    steps,
    trace: world.trace,
    events: queue.events,
    transactions,
    tasksMade: puts.length,
    looks: oracle.checks,
    writesPerTask: puts.reduce((sum, count) => sum + count, 0) / Math.max(1, puts.length),
  };
}

function stepsOf({ seed, steps }: SimulationOptions): Step[] {
  return drawSteps(new SeededRandom(seed + 2), steps, FAULTS_MS);
}

function startManager(world: World, index: number): void {
  const manager = new SimulatedManager(world, `m${index}`);
  world.managers[index] = manager;
  void manager
    .start()
    .catch((error: unknown) => world.failures.push(`m${index} does not start: ${String(error)}`));
}

function startDead(world: World): void {
  world.managers.forEach(({ isDead }, index) => {
    if (isDead) {
      startManager(world, index);
    }
  });
}

/** A manager that died is started again after a while. */
function watchManagers(world: World): void {
  world.queue.after(world.between(2_000, 20_000), () => {
    startDead(world);
    if (!world.isCalm) {
      watchManagers(world);
    }
  });
}

/** No more faults: what was broken is mended. */
function calm(world: World): void {
  world.isCalm = true;
  world.store.isFull = false;
  world.note('calm');
  world.nodes.forEach((node) => {
    node.slowness = 1;
    node.boot();
  });
  world.managers.forEach((manager) => (manager.commitsLeft = Number.POSITIVE_INFINITY));
  startDead(world);
  if (world.random.below(2) === 0) {
    // The last leader has to find out by itself what was left to do.
    world.queue.after(world.between(0, 10_000), () => world.leader?.kill());
    world.queue.after(20_000, () => startDead(world));
  }
}
