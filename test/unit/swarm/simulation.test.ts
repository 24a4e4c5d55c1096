import { describe, expect, test } from 'vitest';
import { simulate } from '../../../scripts/simulate/run.ts';
import { shrink } from '../../../scripts/simulate/shrink.ts';

const size = { nodes: 12, tasks: 60 };

const isBroken = (steps: number[]): boolean => steps.includes(17) && steps.includes(80);

describe('simulation', () => {
  test.each([1, 2, 3, 4, 5])('after faults and quiet all is as wanted: seed %i', (seed) => {
    expect(simulate({ ...size, seed, steps: 60 }).broken).toEqual([]);
  });

  test('without faults a task is written at most three times, and mostly twice', () => {
    const outcome = simulate({ ...size, seed: 1, steps: 0 });
    expect(outcome.broken).toEqual([]);
    expect(outcome.writesPerTask).toBeLessThan(2.2);
  });

  test('the same seed gives the same run', () => {
    const [first, second] = [1, 2].map(() => simulate({ ...size, seed: 9, steps: 40 }));
    expect(second).toEqual(first);
  });

  test('a failure is brought down to the steps that it needs', () => {
    const steps = Array.from({ length: 100 }, (_, index) => index);
    expect(shrink(steps, isBroken, 200)).toEqual([17, 80]);
    expect(shrink(steps, isBroken, 1)).toHaveLength(100);
  });
});
