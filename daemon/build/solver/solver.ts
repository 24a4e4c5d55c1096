import { Semaphore } from '../../base/concurrency/semaphore.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { Vertex } from '../graph/op.ts';
import { Flight, type FlightPlan, type Landed, type Passenger } from './flight.ts';
import { release, type HeldTree, type SolverDeps, type SolveRequest } from './ports.ts';
import { resultsOf } from './reads.ts';
import { Solve } from './solve.ts';

/** Runs graphs of builds. A result that two builds want at once is made once. */
export class Solver<T extends HeldTree> {
  readonly #deps: SolverDeps<T>;
  readonly #slots: Semaphore;
  readonly #flights = new Map<string, { flight: Flight<T>; ended: Promise<void> }>();
  readonly #running = new Set<Promise<void>>();

  constructor(deps: SolverDeps<T>) {
    this.#deps = deps;
    this.#slots = new Semaphore(deps.runsMax);
  }

  /**
   * The results of these vertices, held for the caller; undefined = an empty tree. Nothing runs of what they do not
   * need. Throws what the first step that failed threw, and the signal's reason: by then this build waits for nothing.
   */
  async solve(
    targets: readonly (Vertex | undefined)[],
    request: SolveRequest<T>,
  ): Promise<(T | undefined)[]> {
    const { keys, cache, ops } = this.#deps;
    if (ops.begin !== undefined) {
      await ops.begin(targets);
    }
    const fly = this.#fly.bind(this);
    const track = this.#track.bind(this);
    return await new Solve<T>({ keys, cache, fly, track }, request).run(targets);
  }

  /** Resolves when nothing runs any more, also nothing that all builds have left. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) {
      await Promise.all(this.#running);
    }
  }

  /** `idle` waits for the task, though nobody else may. */
  #track(task: Promise<unknown>): void {
    const running: Promise<void> = task
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Joins the flight to this key, or begins one. It gives `inputs` back itself, whatever comes. */
  async #fly(plan: FlightPlan<T>, passenger: Passenger, signal: AbortSignal): Promise<Landed<T>> {
    const known = this.#flights.get(plan.flight);
    if (known !== undefined && !known.flight.signal.aborted) {
      release(plan.inputs);
      return await known.flight.join(passenger, signal);
    }
    const flight = new Flight<T>(limits.buildReplayedLogBytesMax);
    const landed = flight.join(passenger, signal);
    if (signal.aborted) {
      release(plan.inputs);
      return await landed;
    }
    const ended = this.#run(flight, plan, known?.ended);
    this.#flights.set(plan.flight, { flight, ended });
    this.#track(ended);
    return await landed;
  }

  /**
   * `before`: the end of one that everybody has left. Never throws. Those who wait get the result in the same turn in
   * which the flight is forgotten.
   */
  async #run(flight: Flight<T>, plan: FlightPlan<T>, before?: Promise<void>): Promise<void> {
    await before;
    let settle: () => void;
    try {
      const landed = await this.#result(flight, plan);
      settle = () => flight.land(landed);
    } catch (error) {
      settle = () => flight.fail(error);
    }
    if (this.#flights.get(plan.flight)?.flight === flight) {
      this.#flights.delete(plan.flight);
    }
    release(plan.inputs);
    settle();
  }

  async #result(flight: Flight<T>, plan: FlightPlan<T>): Promise<Landed<T>> {
    const { cache, ops } = this.#deps;
    const { key, sameKey, vertex, takesCached, inputs } = plan;
    // Another build may have made it while the inputs of this one were made.
    const found = takesCached ? await this.#find(plan) : undefined;
    if (found !== undefined) {
      return { tree: found, isCached: true };
    }
    using _slot = await this.#slots.acquire(flight.signal);
    flight.signal.throwIfAborted();
    flight.start();
    const tree = await ops.run(vertex, inputs, flight.context());
    try {
      if (vertex.record !== 'none') {
        failpoint('build.solver.store');
        await cache.store(key, tree, vertex);
        if (sameKey !== undefined) {
          cache.link(sameKey, key);
        }
      }
    } catch (error) {
      tree[Symbol.dispose]();
      throw error;
    }
    return { tree, isCached: false };
  }

  /** Under its own key, or made by another graph on the same; then it has both from now on. */
  async #find({ key, sameKey, vertex }: FlightPlan<T>): Promise<T | undefined> {
    const { cache } = this.#deps;
    const found = await cache.find(key, vertex);
    // What has results beside it is looked for under its own key alone, which leads to them.
    if (found !== undefined || sameKey === undefined || resultsOf(vertex.op).length > 0) {
      return found;
    }
    const same = await cache.find(sameKey);
    if (same !== undefined) {
      try {
        await cache.store(key, same, vertex);
      } catch (error) {
        same[Symbol.dispose]();
        throw error;
      }
    }
    return same;
  }
}
