import { createHash } from 'node:crypto';
import { inConflict, quotaExceeded } from '../input/refusals.ts';
import { targetLimits } from '../limits.ts';
import type { StoreChange } from '../store/port.ts';
import type { Tables } from '../store/tables.ts';
import type { GroupRequest } from './group-input.ts';
import type { TargetGroup } from './target-group.ts';

/** Key of a client token in `Tables.tokens`; `kind`: `g` of groups, `s` of services, `l` of listeners. */
export function tokenKey(kind: 'g' | 's' | 'l', token: string): string {
  return `${kind}/${createHash('sha256').update(token).digest('hex')}`;
}

/**
 * What a request to create a group comes to: the group, and changes where there are any (seed 002, 4B).
 * - A token that has made a group answers it again, for the same parameters, and refuses others.
 * - A name whose group is being made answers it, for the same parameters.
 * - A group that could not be made is tried again, with what the request says now.
 *
 * Throws conflict, and resource_exhausted past the quota. Pure.
 */
export function createdGroup(
  tables: Tables,
  request: GroupRequest,
  { id, nowMs }: { id: string; nowMs: number },
): { changes: readonly StoreChange[]; answer: TargetGroup } {
  const byToken = byTokenOf(tables, request);
  if (byToken !== undefined && byToken.fingerprint !== request.fingerprint && !mayRetry(byToken, request)) {
    throw inConflict(
      'TARGET_GROUP',
      byToken.id,
      `the client token was used to create the target group ${byToken.name} with other parameters`,
    );
  }
  const named = tables.groups.get(tables.names.get(`g/${request.name}`)?.id ?? '');
  const existing = byToken ?? named;
  if (existing === undefined) {
    return fresh(tables, request, { id, nowMs });
  }
  if (existing.status === 'CREATE_FAILED') {
    return again(tables, existing, request, nowMs);
  }
  const isRetry = existing.fingerprint === request.fingerprint;
  if (isRetry && (byToken !== undefined || existing.status === 'CREATE_IN_PROGRESS')) {
    return { changes: [], answer: existing };
  }
  throw inConflict(
    'TARGET_GROUP',
    existing.id,
    `the name ${request.name} is that of the target group ${existing.id}`,
  );
}

/** A failed group may be tried again with what was wrong mended, by the token that made it. */
function mayRetry(group: TargetGroup, request: GroupRequest): boolean {
  return group.status === 'CREATE_FAILED' && group.name === request.name;
}

function byTokenOf({ groups, tokens }: Tables, { clientToken }: GroupRequest): TargetGroup | undefined {
  const pointer = clientToken === undefined ? undefined : tokens.get(tokenKey('g', clientToken));
  return pointer && groups.get(pointer.id);
}

function fresh(tables: Tables, request: GroupRequest, { id, nowMs }: { id: string; nowMs: number }) {
  if (tables.groups.count() >= targetLimits.groupsMax) {
    throw quotaExceeded(
      'TARGET_GROUP',
      request.name,
      'target-groups',
      `there are ${targetLimits.groupsMax} target groups, as many as there may be`,
    );
  }
  const group: TargetGroup = {
    ...request,
    id,
    status: 'CREATE_IN_PROGRESS',
    createdMs: nowMs,
    updatedMs: nowMs,
  };
  return { changes: written(tables, group), answer: group };
}

function again(tables: Tables, failed: TargetGroup, request: GroupRequest, nowMs: number) {
  const group: TargetGroup = {
    ...request,
    id: failed.id,
    status: 'CREATE_IN_PROGRESS',
    createdMs: failed.createdMs,
    updatedMs: nowMs,
  };
  const { clientToken: old } = failed;
  const forgotten =
    old === undefined || old === request.clientToken ? [] : [tables.tokens.delete(tokenKey('g', old))];
  return { changes: [...written(tables, group), ...forgotten], answer: group };
}

function written(tables: Tables, group: TargetGroup): StoreChange[] {
  const { id, name, clientToken } = group;
  return [
    tables.groups.put(id, group),
    tables.names.put(`g/${name}`, { id }),
    ...(clientToken === undefined ? [] : [tables.tokens.put(tokenKey('g', clientToken), { id })]),
  ];
}
