import { expect, test } from 'vitest';
import { newSwarmId, SWARM_ID } from '../../../../swarm/objects/ids.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

test('a swarm id has 25 characters whatever the bytes are, and none twice', () => {
  const random = new SeededRandom(1);
  const ids = Array.from({ length: 1000 }, () => newSwarmId(random));
  expect(ids.filter((id) => !SWARM_ID.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(1000);
  for (const byte of [0, 255]) {
    expect(newSwarmId({ bytes: (count) => new Uint8Array(count).fill(byte) })).toMatch(SWARM_ID);
  }
});
