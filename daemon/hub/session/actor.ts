import { unreachable } from '../../base/errors.ts';
import type { Caller } from '../identity/caller.ts';
import type { Actor } from '../occurrences/occurrence.ts';

/** Whom webhooks name for what a caller does. */
export function actorOf(caller: Caller): Actor {
  switch (caller.kind) {
    case 'user':
      return { kind: 'user', id: caller.user.id, name: caller.user.name };
    case 'root':
    case 'anonymous':
      return { kind: caller.kind };
    default:
      return unreachable(caller);
  }
}
