import { expect } from 'vitest';
import type { Vertex } from '../../../../daemon/build/graph/op.ts';
import { Solver } from '../../../../daemon/build/solver/solver.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { FakeEngine, Schedule, Told, type FakeTree } from './fake-engine.ts';

/** A build under way. */
export interface Asked {
  told: Told;
  result: Promise<string | { error: string }>;
  end: AbortController;
}

/** A solver on a fake engine, whose work goes on in an order of the seed. */
export function bench(seed = 1, runsMax = 3) {
  const schedule = new Schedule(new SeededRandom(seed));
  const engine = new FakeEngine(schedule, runsMax);
  const solver = new Solver<FakeTree>(engine);
  const ask = (vertex: Vertex, session = 's1'): Asked => {
    const told = new Told();
    const end = new AbortController();
    const result = solver.solve([vertex], { session, progress: told, signal: end.signal }).then(
      ([tree]) => {
        using held = tree;
        return held?.files.get('out') ?? JSON.stringify([...(held?.files ?? [])]);
      },
      (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }),
    );
    return { told, result, end };
  };
  /** Builds it alone; answers what was told. */
  const build = async (vertex: Vertex, session = 's1'): Promise<string[]> => {
    const { told, result } = ask(vertex, session);
    await schedule.runOut();
    expect(await result).not.toHaveProperty('error');
    return told.words;
  };
  /** Only the cache holds anything, and each tree once. */
  const expectNothingHeld = async (): Promise<void> => {
    await solver.idle();
    expect(engine.faults).toEqual([]);
    const kept = new Set(engine.kept.values());
    expect(engine.trees.filter((tree) => tree.holds !== (kept.has(tree) ? 1 : 0))).toEqual([]);
  };
  return { schedule, engine, ask, build, expectNothingHeld };
}
