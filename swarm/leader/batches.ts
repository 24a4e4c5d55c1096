import { limits } from '../../daemon/base/limits.ts';
import { keyOf } from '../objects/keys.ts';
import type { Write } from '../objects/parts.ts';

/** A write with the revision at which what it replaces was known; 0 = it was not there. */
export interface PlannedWrite {
  write: Write;
  revision: number;
}

/** One transaction holds up what clients write, so a batch is small: etcd's default, less the fence. */
export const BATCH_WRITES_MAX = 127;
/** What a task or status takes at most, with what the store's request has around it. */
const SMALL_BYTES = 8 * 1024;

/** How many of the first writes one transaction takes: at least one, and none that writes the same part again. */
export function batchLength(writes: readonly PlannedWrite[], count: number): number {
  let bytes = 0;
  let length = 0;
  const keys = new Set<string>();
  for (const { write } of writes.slice(0, count)) {
    const key = keyOf(write.part, write.id);
    bytes += bytesOf(write);
    if (keys.has(key) || (length > 0 && bytes > limits.swarmStoreCommitBytesMax)) {
      break;
    }
    keys.add(key);
    length += 1;
  }
  return length;
}

/** An estimate from above; specifications and lists of ports are large, the rest is bounded where it came in. */
function bytesOf({ part, value }: Write): number {
  const isSmall = value === null || part === 'task' || (part === 'status' && value.ports === undefined);
  return isSmall ? SMALL_BYTES : SMALL_BYTES + Buffer.byteLength(JSON.stringify(value));
}
