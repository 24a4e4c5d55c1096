import type { Random } from './random.ts';

const ENTROPY_BYTES = 17;
const ID_LENGTH = 25;

/** Every id of a swarm: 25 characters of `0-9a-z`. */
export const SWARM_ID = /^[0-9a-z]{25}$/;

/**
 * A fresh id: 17 random bytes with the top bit set as a number of base 36, without its first digit, which is far from
 * evenly distributed.
 */
export function newSwarmId(random: Random): string {
  return swarmIdOf(random.bytes(ENTROPY_BYTES));
}

/** The id that is made of the first 17 of these bytes. Pure. */
export function swarmIdOf(bytes: Uint8Array): string {
  let value = 0n;
  bytes.subarray(0, ENTROPY_BYTES).forEach((byte, index) => {
    value = (value << 8n) | BigInt(index === 0 ? byte | 0x80 : byte);
  });
  return value.toString(36).slice(1, ID_LENGTH + 1);
}
