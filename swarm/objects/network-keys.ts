import type { NetworkKey } from '../../api/types/swarm/overlay.ts';
import { isEncrypted } from '../../daemon/base/overlay-options.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { NetworkRecord } from './network.ts';
import type { Random } from './random.ts';

/**
 * The keys that nodes encrypt overlay networks with, and a number for each node. Kept sealed, written by the leader
 * alone.
 */
export interface NetworkKeyRing {
  /**
   * Oldest first: the previous key, which some may still send with; the primary one; and the next, to be known by all.
   */
  keys: NetworkKey[];
  /** When the newest came, in milliseconds since 1970 UTC. */
  rotated: number;
  /** By node. Never given twice, so that nobody takes a new node for one that was removed. */
  numbers: Record<string, number>;
  lastNumber: number;
}

const SECRET_BYTES = 32;
const RING_KEYS = 3;
/** Numbers of IPsec states below 256 are reserved, and a node has four of them from four times its own. */
const FIRST_NUMBER = 65;

export function hasEncryption({ overlay }: NetworkRecord): boolean {
  return overlay !== undefined && isEncrypted(overlay.options);
}

/**
 * The ring as it is to be now; the same object where nothing is to be done. A new key is the next one first: it is sent
 * with after one period, when every node has it, and read for one more. Pure.
 *
 * @param now Milliseconds since 1970 UTC.
 * @param nodes Ids of all nodes of the swarm.
 */
export function ringAt(
  known: NetworkKeyRing | undefined,
  { now, nodes, random }: { now: number; nodes: readonly string[]; random: Random },
): NetworkKeyRing {
  const ring = known ?? firstRing(now, random);
  // A clock that was ahead by more than a period must not stop the rotation.
  const isDue = Math.abs(now - ring.rotated) >= limits.swarmNetworkKeyMs;
  const lastId = ring.keys.at(-1)?.id ?? 0;
  const keys = isDue ? [...ring.keys, newKey(lastId + 1, random)].slice(-RING_KEYS) : ring.keys;
  const { numbers, lastNumber } = numbered(ring, nodes);
  const isSame = !isDue && numbers === ring.numbers;
  return isSame ? ring : { keys, rotated: isDue ? now : ring.rotated, numbers, lastNumber };
}

function firstRing(now: number, random: Random): NetworkKeyRing {
  return {
    keys: [newKey(1, random), newKey(2, random)],
    rotated: now,
    numbers: {},
    lastNumber: FIRST_NUMBER - 1,
  };
}

function newKey(id: number, random: Random): NetworkKey {
  return { id, secret: Buffer.from(random.bytes(SECRET_BYTES)).toString('base64') };
}

/** The same object where all nodes have one and no others do. */
function numbered(
  { numbers, lastNumber }: NetworkKeyRing,
  nodes: readonly string[],
): Pick<NetworkKeyRing, 'numbers' | 'lastNumber'> {
  const fresh = nodes.filter((node) => !Object.hasOwn(numbers, node)).toSorted();
  const present = new Set(nodes);
  const kept = Object.entries(numbers).filter(([node]) => present.has(node));
  if (fresh.length === 0 && kept.length === Object.keys(numbers).length) {
    return { numbers, lastNumber };
  }
  const added = fresh.map((node, place) => [node, lastNumber + 1 + place] as const);
  return { numbers: Object.fromEntries([...kept, ...added]), lastNumber: lastNumber + fresh.length };
}
