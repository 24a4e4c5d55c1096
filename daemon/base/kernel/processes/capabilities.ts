import { declare } from '../libc.ts';

const capget = declare('int capget(void *header, void *data)');
const capset = declare('int capset(void *header, const void *data)');

/** linux/capability.h: version 3, this thread; two records of effective, permitted and inheritable, low bits first. */
const HEADER = Buffer.alloc(8);
HEADER.writeUInt32LE(0x2008_0522, 0);
const DATA_BYTES = 24;
export const CAP_SYS_RESOURCE = 24;

/**
 * Calls `action`, which must be synchronous, while this thread has a capability (one of the first 32) put aside.
 * Without effect where it has none.
 */
export function withoutCapability<Result>(capability: number, action: () => Result): Result {
  const data = Buffer.alloc(DATA_BYTES);
  capget('capabilities', HEADER, data);
  const effective = data.readUInt32LE(0);
  const less = (effective & ~(1 << capability)) >>> 0;
  if (less === effective) {
    return action();
  }
  data.writeUInt32LE(less, 0);
  capset('capabilities', HEADER, data);
  try {
    return action();
  } finally {
    data.writeUInt32LE(effective, 0);
    capset('capabilities', HEADER, data);
  }
}
