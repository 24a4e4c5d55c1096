import { limits } from '../../daemon/base/limits.ts';
import { StoreError } from './errors.ts';
import type { Commit } from './port.ts';

/** Per key, what etcd's request has around key and value. */
const OVERHEAD_BYTES = 64;

/** Throws `refused` for a commit that etcd would not take; the same rules hold for every store. */
export function checkCommit({ conditions, writes, fence }: Commit): void {
  const operations = Math.max(conditions.length + (fence === undefined ? 0 : 1), writes.length);
  if (operations > limits.swarmStoreCommitOperationsMax) {
    throw new StoreError(
      'refused',
      `commit ${operations} operations: a transaction takes ${limits.swarmStoreCommitOperationsMax}`,
    );
  }
  const keys = new Set<string>();
  let bytes = 0;
  for (const write of writes) {
    if (keys.has(write.key)) {
      throw new StoreError('refused', `commit ${write.key}: a transaction takes a key only once`);
    }
    keys.add(write.key);
    bytes += OVERHEAD_BYTES + write.key.length + (write.kind === 'put' ? write.value.length : 0);
  }
  if (bytes > limits.swarmStoreCommitBytesMax) {
    throw new StoreError(
      'refused',
      `commit ${bytes} bytes: a transaction takes ${limits.swarmStoreCommitBytesMax}`,
    );
  }
}
