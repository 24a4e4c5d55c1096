import { occurrenceOf } from '../../../base/occurrence.ts';
import type { Happening } from '../../../cluster/events/emit/happening.ts';
import type { AuditRecord } from '../../../hub/audit/audit-record.ts';

/** What comes and goes with each start of a container, and with each probe, says nothing that others do not say. */
const LEFT_OUT = new Set([
  'VolumeMounted',
  'VolumeUnmounted',
  'NetworkConnected',
  'NetworkDisconnected',
  'Healthy',
]);

/** What happened in the engine, as it is written down for root; undefined = it is not. Pure. */
export function auditRecord(happening: Happening): AuditRecord | undefined {
  const { id, atNano, namespace, regarding, reason, note, part, audited } = happening;
  // The hub writes down what happens to its repositories by itself, with it.
  if (LEFT_OUT.has(reason) || part === 'registry') {
    return undefined;
  }
  const { kind = '', name = '', uid = name } = regarding;
  return {
    id: id ?? occurrenceOf(part, namespace, kind, uid, reason, String(atNano)),
    atMs: Number(atNano / 1_000_000n),
    actor: { kind: 'engine' },
    action: reason,
    target: { kind, id: uid, name },
    details: { note, ...audited },
  };
}
