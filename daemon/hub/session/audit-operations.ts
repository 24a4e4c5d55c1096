import type { AuditRow, HubAuditPort } from '../../../api/types/hub/audit.ts';
import { unreachable } from '../../base/errors.ts';
import type { AuditRecord } from '../audit/audit-record.ts';
import type { Caller } from '../identity/caller.ts';
import { rootOnly } from './refusals.ts';
import type { SessionDeps } from './session-deps.ts';

/** Who has done what, for root. */
export class AuditOperations implements HubAuditPort {
  readonly #deps: Pick<SessionDeps, 'audit'>;
  readonly #caller: Caller;

  constructor(deps: Pick<SessionDeps, 'audit'>, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
  }

  list(id?: string): AuditRow[] {
    rootOnly(this.#caller);
    return this.#deps.audit.list(id).map(rowOf);
  }
}

function rowOf({ id, atMs, actor, action, target, details }: AuditRecord): AuditRow {
  return {
    id,
    at: new Date(atMs).toISOString(),
    actor: actorName(actor),
    action,
    target: `${target.kind} ${target.name}`,
    target_id: target.id,
    details,
  };
}

function actorName(actor: AuditRecord['actor']): string {
  switch (actor.kind) {
    case 'user':
      return actor.name;
    case 'application':
      return `application ${actor.name}`;
    case 'root':
    case 'anonymous':
    case 'engine':
      return actor.kind;
    default:
      return unreachable(actor);
  }
}
