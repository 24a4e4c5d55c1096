import { unreachable } from '../../base/errors.ts';
import { nameOf, type Caller } from '../identity/caller.ts';
import type { Actor } from '../occurrences/occurrence.ts';

/** Whom webhooks name for what a caller does. */
export function actorOf(caller: Caller): Actor {
  switch (caller.kind) {
    case 'user':
    case 'page':
    case 'delegate':
      return { kind: 'user', id: caller.user.id, name: caller.user.name };
    case 'installation':
    case 'app':
      return { kind: 'application', id: caller.app.id, name: caller.app.name };
    case 'client':
      return { kind: 'application', id: caller.application.id, name: caller.application.name };
    case 'workflow':
    case 'service':
      return { kind: 'application', id: 0, name: nameOf(caller) };
    case 'root':
    case 'anonymous':
      return { kind: caller.kind };
    default:
      return unreachable(caller);
  }
}
