import { mergeFields } from '../../../base/json/merge-patch.ts';
import type { ClusterEvent, EventPatch } from '../../../../api/types/cluster/events.ts';
import { badRequest } from '../problems.ts';
import { applyJsonPatch } from './json-patch.ts';
import { applyFields } from './managed-fields.ts';
import { strategicMerge } from './strategic.ts';

/**
 * An event after a patch of any kind. Pure. Throws invalid_argument for a patch that makes no sense, conflict where
 * another manager owns what is applied.
 */
export function patchedEvent(current: ClusterEvent, patch: EventPatch, now: string): ClusterEvent {
  const { kind, body, check, isForced, manager = '' } = patch;
  if (kind === 'json') {
    return check(asEvent(applyJsonPatch(current, body)));
  }
  const fields = asFields(body);
  if (kind === 'apply') {
    return applyFields(current, { event: check(asEvent(fields)), manager, isForced, now });
  }
  const target = asFields(current);
  return check(asEvent(kind === 'merge' ? mergeFields(target, fields) : strategicMerge(target, fields)));
}

function asFields(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest('a patch must be an object');
  }
  return { ...value };
}

function asEvent(value: unknown): ClusterEvent {
  // What it is beyond an object, `check` says.
  return asFields(value) as unknown as ClusterEvent;
}
