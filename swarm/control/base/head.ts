import type { ObjectHead, ObjectVersion } from '../../../api/types/swarm/meta.ts';
import { ZERO_TIME } from '../../../daemon/base/clock.ts';
import { limits } from '../../../daemon/base/limits.ts';

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

/** Times as text. To make one takes longer than all else of a task's view, and clients ask for the same again. */
const texts = new Map<number, string>();

/** RFC 3339 as Go prints it: without trailing zeros. 0 is a time that never was. */
export function timeText(ms: number): string {
  if (ms === 0) {
    return ZERO_TIME;
  }
  let text = texts.get(ms);
  if (text === undefined) {
    text = new Date(ms).toISOString().replace(/\.?0+Z$/, 'Z');
    if (texts.size >= limits.swarmTimesRemembered) {
      texts.clear();
    }
    texts.set(ms, text);
  }
  return text;
}
