import { limits } from '../../daemon/base/limits.ts';
import { rotateAtBytes } from './policy.ts';
import type { RotationPolicy } from './policy.ts';

/** A rotated file. */
export interface RotatedFile {
  generation: number;
  /** On disk. */
  bytes: number;
}

/** The readers that still need rotated files: the oldest generation that each needs. */
export interface RotatedUsers {
  /** A client that reads or follows. */
  reader?: number;
  /** Delivery to a receiver. */
  delivery?: number;
}

/**
 * Which of the rotated files (oldest first) go, so that no more are kept than the policy says, by number and by bytes:
 * a file may have grown past its size between two looks. The newest always stays. Readers hold a few files longer,
 * deliveries as many as fit the spool. Pure.
 */
export function surplusFiles(
  rotated: readonly RotatedFile[],
  policy: RotationPolicy,
  users: RotatedUsers = {},
): RotatedFile[] {
  const filesMax = Math.max(1, policy.filesMax - 1);
  const bytesMax = rotateAtBytes(policy) * filesMax;
  const gone: RotatedFile[] = [];
  let files = rotated.length;
  let bytes = rotated.reduce((sum, file) => sum + file.bytes, 0);
  for (const file of rotated.slice(0, -1)) {
    const isSurplus = files > filesMax || bytes > bytesMax;
    const isRead =
      file.generation >= (users.reader ?? Infinity) && files <= filesMax + limits.logReaderFilesMax;
    const isUndelivered = file.generation >= (users.delivery ?? Infinity) && bytes <= limits.logSpoolBytesMax;
    if (!isSurplus || isRead || isUndelivered) {
      break;
    }
    gone.push(file);
    files -= 1;
    bytes -= file.bytes;
  }
  return gone;
}
