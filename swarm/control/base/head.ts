import type { ObjectHead, ObjectVersion } from '../../../api/types/swarm/meta.ts';
import { ZERO_TIME } from '../../../daemon/base/clock.ts';

/** What every object's view begins with. Times in milliseconds since 1970 UTC. Pure. */
export function headOf(
  { id, created, updated }: { id: string; created: number; updated: number },
  revision: number,
): ObjectHead {
  return {
    ID: id,
    Version: versionOf(revision),
    CreatedAt: timeText(created),
    UpdatedAt: timeText(updated),
  };
}

/** `{}` for 0, as Go leaves it out. Pure. */
export function versionOf(index: number): ObjectVersion {
  return index === 0 ? {} : { Index: index };
}

/** RFC 3339 as Go prints it: without trailing zeros. 0 is a time that never was. Pure. */
export function timeText(ms: number): string {
  return ms === 0 ? ZERO_TIME : new Date(ms).toISOString().replace(/\.?0+Z$/, 'Z');
}
