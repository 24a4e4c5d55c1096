import type { FileTime } from '../../base/kernel/files/file-status.ts';

const NANOS = 1_000_000_000n;

/** Nanoseconds since 1970. */
export function timeNano({ seconds, nanoseconds }: FileTime): bigint {
  return BigInt(seconds) * NANOS + BigInt(nanoseconds);
}
