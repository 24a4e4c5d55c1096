import { existsSync, readFileSync } from 'node:fs';
import { TestDaemon } from '../support/engine/daemon.ts';
import { sleep, until } from '../support/engine/http.ts';
import { differences } from '../support/engine/oracle.ts';
import { WAIT_MS } from '../support/patience.ts';
import type { Verb } from './verbs/verb.ts';

/** A failpoint as `name@nth`: the nth passing since it was armed. */
export interface Point {
  name: string;
  nth: number;
}

/** Longer than the engine takes from one step to the next. */
const QUIET_MS = 300;

/** Attempts at one failpoint depend on nothing else, so two daemons share them: one waits while the other computes. */
const LANES = 2;

/** Daemons that hold a busybox image and nothing else. */
export class Lanes implements AsyncDisposable {
  readonly #daemons: TestDaemon[];

  private constructor(daemons: TestDaemon[]) {
    this.#daemons = daemons;
  }

  static async open(): Promise<Lanes> {
    const results = await Promise.allSettled(Array.from({ length: LANES }, startPrepared));
    const lanes = new Lanes(
      results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
    );
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) {
      await lanes[Symbol.asyncDispose]();
      throw failed.reason;
    }
    return lanes;
  }

  /** The failpoints that a verb passes: of each its first, second and last passing, in order. */
  points(verb: Verb): Promise<Point[]> {
    return this.trace((daemon) => tracePoints(daemon, verb));
  }

  /** For tracing by other means. */
  trace(find: (daemon: TestDaemon) => Promise<Point[]>): Promise<Point[]> {
    return find(this.#daemon(0));
  }

  /** Does `attempt` once for each point, on whichever daemon is free; answers all problems, each with its point. */
  async each(
    points: readonly Point[],
    attempt: (daemon: TestDaemon, point: Point) => Promise<string[]>,
  ): Promise<string[]> {
    const problems: string[] = [];
    const queue = points.values();
    const lane = async (number: number): Promise<void> => {
      // One iterator for all lanes: each takes the next point that nobody has.
      for (const point of queue) {
        const found = await attempt(this.#daemon(number), point);
        for (const problem of found) {
          // At once as well: a run takes minutes.
          console.log(`${point.name}@${point.nth}: ${problem}`);
          problems.push(`${point.name}@${point.nth}: ${problem}`);
        }
        if (found.length > 0) {
          await this.#replace(number);
        }
      }
    };
    await Promise.all([...this.#daemons.keys()].map(lane));
    return problems;
  }

  #daemon(number: number): TestDaemon {
    const daemon = this.#daemons[number];
    if (daemon === undefined) {
      throw new Error(`no daemon in lane ${number}`);
    }
    return daemon;
  }

  /** What one point has left wrong must not be taken for the fault of the next. */
  async #replace(number: number): Promise<void> {
    await this.#daemon(number)[Symbol.asyncDispose]();
    this.#daemons[number] = await startPrepared();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#daemons.map((daemon) => daemon[Symbol.asyncDispose]()));
  }
}

async function startPrepared(): Promise<TestDaemon> {
  const daemon = await TestDaemon.start({ armable: true });
  await daemon.loadBusybox();
  // The first container of an image makes what all others of it have: a verb of its own.
  const { Id } = await daemon.http.ok<{ Id: string }>('POST', '/containers/create', {
    Image: 'busybox:latest',
  });
  await daemon.http.ok('DELETE', `/containers/${Id}`);
  return daemon;
}

/** Steps of one attempt; each goes on whatever became of those before it, and says what was wrong. */
export class Attempt {
  readonly problems: string[] = [];
  readonly #daemon: TestDaemon;

  constructor(daemon: TestDaemon) {
    this.#daemon = daemon;
  }

  /** Notes what the action throws. */
  async step(what: string, action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.problems.push(`${what}: ${firstLines(error)}`);
    }
  }

  /** Notes what the oracle still finds after all patience. */
  async converged(when: string): Promise<void> {
    const found = await remains(this.#daemon);
    this.problems.push(...found.map((difference) => `${when}: ${difference}`));
  }
}

/** What the oracle still finds in the end: some things go a moment after the answer. */
async function remains(daemon: TestDaemon): Promise<string[]> {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const found = await differences(daemon).catch((error: unknown) => [firstLines(error)]);
    if (found.length === 0 || performance.now() > deadline) {
      return found;
    }
    await sleep(20);
  }
}

async function tracePoints(daemon: TestDaemon, verb: Verb): Promise<Point[]> {
  await verb.prepare(daemon.http);
  const points = await traceOf(daemon, () => verb.act(daemon.http));
  await verb.undo(daemon.http);
  return points.filter(({ name }) => verb.only?.test(name) !== false);
}

/** Passed at the first event of a daemon and then every few thousand: no part of what a verb does. */
const BY_ITSELF = 'database.event.prune';

/** What is passed by an action and in its wake: of each name the first, second and last passing. */
export async function traceOf(daemon: TestDaemon, action: () => Promise<unknown>): Promise<Point[]> {
  const file = daemon.paths.failpointTrace;
  await settled(daemon);
  const before = readTrace(file).length;
  await action();
  // What follows the answer (clean-up after an exit) belongs to it as well.
  await settled(daemon);
  const trace = readTrace(file)
    .slice(before)
    .filter((name) => name !== BY_ITSELF);
  const passed = trace.map((name, index) => ({
    name,
    nth: trace.slice(0, index + 1).filter((other) => other === name).length,
  }));
  return passed.filter(
    ({ name, nth }) => nth <= 2 || nth === passed.findLast((other) => other.name === name)?.nth,
  );
}

function readTrace(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

/**
 * Nothing is under way any more: the oracle finds no difference and, for a while in which neither the daemon nor this
 * process was held up, the trace has not grown. A daemon that does not run has nothing under way.
 */
async function settled(daemon: TestDaemon): Promise<void> {
  const { failpointTrace } = daemon.paths;
  if (!daemon.isRunning()) {
    return;
  }
  await remains(daemon);
  await until('the trace to end', async () => {
    const [length, begun] = [readTrace(failpointTrace).length, performance.now()];
    await sleep(QUIET_MS);
    await daemon.http.request('GET', '/_ping');
    const isHeldUp = performance.now() - begun > 2 * QUIET_MS;
    return !isHeldUp && readTrace(failpointTrace).length === length;
  });
}

/** An error may carry the end of a daemon's log. */
function firstLines(error: unknown): string {
  return String(error).slice(0, 2000);
}
