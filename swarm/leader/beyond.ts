import { put, type Write } from '../objects/parts.ts';
import type { NodeMark } from './ports.ts';
import type { Reports } from './reports.ts';

/** What this leader knows and the store does not. */
export interface Beyond {
  reports: Reports;
  marks: ReadonlyMap<string, NodeMark>;
}

/** A stored change as the planner has to see it: what is known beyond the store stays. */
export function asKnown(write: Write, { reports, marks }: Beyond): Write {
  if (write.part === 'status') {
    const reported = reports.get(write.id);
    const isNewer = reported !== undefined && reported.state > (write.value?.state ?? -1);
    return isNewer ? put('status', reported) : write;
  }
  if (write.part === 'nodeState' && write.value !== null && write.value.state !== 'down') {
    return put('nodeState', { ...write.value, ...marks.get(write.id) });
  }
  return write;
}
