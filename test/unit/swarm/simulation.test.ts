import { describe, expect, test } from 'vitest';
import { simulate } from '../../../scripts/simulate/run.ts';
import { shrink } from '../../../scripts/simulate/shrink.ts';

const size = { nodes: 12, tasks: 60 };

const isBroken = async (steps: number[]): Promise<boolean> => steps.includes(17) && steps.includes(80);

describe('simulation', () => {
  test.each([1, 2, 3, 4, 5])('after faults and quiet all is as wanted: seed %i', async (seed) => {
    expect((await simulate({ ...size, seed, steps: 60 })).broken).toEqual([]);
  });

  test.each(Array.from({ length: 40 }, (_, index) => 101 + index))(
    'addresses and ports of a small swarm are given once: seed %i',
    async (seed) => {
      const { broken, looks } = await simulate({ seed, nodes: 3, tasks: 8, steps: 30 });
      expect(broken).toEqual([]);
      expect(looks).toBeGreaterThan(0);
    },
  );

  test('without faults a task is written at most three times, and mostly twice', async () => {
    const outcome = await simulate({ ...size, seed: 1, steps: 0 });
    expect(outcome.broken).toEqual([]);
    expect(outcome.writesPerTask).toBeLessThan(2.2);
  });

  test('the same seed gives the same run', async () => {
    const [first, second] = await Promise.all([1, 2].map(() => simulate({ ...size, seed: 9, steps: 40 })));
    expect(second).toEqual(first);
  });

  test('a failure is brought down to the steps that it needs', async () => {
    const steps = Array.from({ length: 100 }, (_, index) => index);
    expect(await shrink(steps, isBroken, 200)).toEqual([17, 80]);
    expect(await shrink(steps, isBroken, 1)).toHaveLength(100);
  });
});
