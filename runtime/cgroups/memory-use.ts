import { join } from 'node:path';
import { readControl } from './control-files.ts';

/** What a version 2 cgroup uses and the kernel cannot take away without killing or swapping. 0 when it is gone. */
export function unreclaimableBytes(directory: string): number {
  const current = Number(readControl(join(directory, 'memory.current')) ?? 0);
  const stat = readControl(join(directory, 'memory.stat')) ?? '';
  const of = (key: string): number => Number(new RegExp(`^${key} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0);
  return Math.max(0, current - of('active_file') - of('inactive_file') - of('slab_reclaimable'));
}
