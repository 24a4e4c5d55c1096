import { unreachable } from '../../base/errors.ts';
import type { Occurrence } from '../occurrences/occurrence.ts';

export interface NamedEvent {
  event: string;
  /** Null = the event has none. */
  action: string | null;
}

/** The events that tell of what has happened, in the order in which they are sent. Pure. */
export function eventsOf(occurrence: Occurrence): readonly NamedEvent[] {
  switch (occurrence.kind) {
    case 'tag': {
      const { before, after } = occurrence;
      if (after === null) {
        return [named('push'), named('delete')];
      }
      const action = before === null ? 'published' : 'updated';
      return [
        named('push'),
        ...(before === null ? [named('create')] : []),
        named('registry_package', action),
        named('package', action),
      ];
    }
    case 'manifest-deleted':
      return [named('package', 'deleted')];
    case 'pulled':
      return [named('pull', 'pulled')];
    case 'repository':
      return [named('repository', occurrence.action)];
    case 'note':
      return [named('note', occurrence.action)];
    case 'deployment':
      return [named('deployment', 'created')];
    case 'deployment-status':
      return [named('deployment_status', 'created')];
    default:
      return unreachable(occurrence);
  }
}

function named(event: string, action: string | null = null): NamedEvent {
  return { event, action };
}
