import type { RecordsPlace } from '../../../swarm/records/ports.ts';

/** What this host is to a swarm, as far as parts of the engine with records ask. */
export interface Membership {
  isManager: boolean;
  /** Addresses. */
  managers: readonly string[];
}

/** Where the records of a part of the engine are; `away` = not within reach of this host. */
export type Standing =
  | { kind: 'host'; place?: undefined }
  | { kind: 'swarm'; place: RecordsPlace }
  | { kind: 'away'; reason: string; place?: undefined };

/** Pure. `place`: the store of the swarm, while it answers. `title`: of the part, for the reason: `the hub`. */
export function standingOf(
  place: RecordsPlace | undefined,
  membership: Membership | undefined,
  title: string,
): Standing {
  if (place !== undefined) {
    return { kind: 'swarm', place };
  }
  if (membership === undefined) {
    return { kind: 'host' };
  }
  const reason = membership.isManager
    ? `this host is a manager of a swarm that is not ready: ${title} has its records there`
    : `this host is a worker of a swarm: ${title} is at its managers, ${membership.managers.join(', ')}`;
  return { kind: 'away', reason };
}
