import { clusterWrite } from '../../test/support/swarm/builders.ts';
import { SeededRandom } from '../../test/support/swarm/seeded-random.ts';
import { brokenInvariants } from './invariants.ts';
import { SimulatedLeader } from './leader.ts';
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
  /** Puts of tasks and statuses, per task made. */
  writesPerTask: number;
}

const BEGIN_MS = 60_000;
const FAULTS_MS = 240_000;
/** The longest that something waits by itself is a minute; some things wait for others. */
const QUIET_MS = 1_800_000;
const TASKS_PER_SERVICE = 100;
const CLOCK_SKEW_MS = 5_000;

/** One run: a cluster is built, then come steps with their faults, then quiet, then the invariants are looked at. */
export function simulate(options: SimulationOptions, steps = stepsOf(options)): Outcome {
  const world = new World(options.seed);
  const { queue } = world;
  const begin = queue.now;
  world.store.commit([clusterWrite()]);
  elect(world);
  const random = new SeededRandom(options.seed + 1);
  for (let node = 0; node < options.nodes; node += 1) {
    addNode(world, random, `n${node}`);
  }
  for (let left = options.tasks; left > 0; left -= TASKS_PER_SERVICE) {
    addService(world, random, `first${left}`, Math.min(left, TASKS_PER_SERVICE));
  }
  for (const step of steps) {
    queue.after(BEGIN_MS + step.atMs, () => perform(world, step, () => elect(world)));
  }
  watchLeader(world);
  queue.runUntil(begin + BEGIN_MS + FAULTS_MS);
  calm(world);
  const isIdle = queue.runUntil(queue.now + QUIET_MS);
  const broken = brokenInvariants(world);
  const puts = [...world.store.putsOfTask.values()];
  return {
    broken: isIdle ? broken : [...broken, 'there is no end of events'],
    steps,
    trace: world.trace,
    events: queue.events,
    transactions: world.store.transactions,
    tasksMade: puts.length,
    writesPerTask: puts.reduce((sum, count) => sum + count, 0) / Math.max(1, puts.length),
  };
}

function stepsOf({ seed, steps }: SimulationOptions): Step[] {
  return drawSteps(new SeededRandom(seed + 2), steps, FAULTS_MS);
}

/** Another manager, whose clock is another, becomes leader after a while. Nodes find it. */
function elect(world: World): void {
  world.leader?.stop();
  const isFirst = world.leader === undefined;
  world.leader = undefined;
  const takeOffice = (): void => {
    if (world.leader !== undefined) {
      return;
    }
    world.leader = new SimulatedLeader(world, world.between(-CLOCK_SKEW_MS, CLOCK_SKEW_MS));
    world.note('a leader is elected');
    world.nodes.forEach((node) => node.dial(5_000));
  };
  if (isFirst) {
    takeOffice();
  } else {
    world.queue.after(world.between(500, 3_000), takeOffice);
  }
}

/** A leader that died in its work is followed by another. */
function watchLeader(world: World): void {
  world.queue.after(1_000, () => {
    if (world.leader?.isAlive === false) {
      elect(world);
    }
    if (!world.isCalm) {
      watchLeader(world);
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
  if (world.leader !== undefined) {
    world.leader.diesAfterTransactions = Number.POSITIVE_INFINITY;
  }
  if (world.leader?.isAlive === false) {
    elect(world);
  } else if (world.random.below(2) === 0) {
    // The last leader has to find out by itself what was left to do.
    world.queue.after(world.between(0, 10_000), () => elect(world));
  }
}
