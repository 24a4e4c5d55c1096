import type { SeededRandom } from '../../test/support/seeded-random.ts';

/** Any one; undefined where there is none. */
export function pick<T>(random: SeededRandom, list: readonly T[]): T | undefined {
  return list[random.below(Math.max(1, list.length))];
}
