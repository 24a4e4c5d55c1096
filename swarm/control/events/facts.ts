import type { StringMap } from '../../../api/types/maps.ts';
import { modeOf } from '../../planner/service-mode.ts';
import type { ManagerMember } from '../ports.ts';
import type { KnownNode } from '../nodes/find.ts';
import type { KnownService } from '../services/view.ts';

/** What events tell of an object: its name, and what they say of a change as `FACT.old` and `FACT.new`. */
export interface Facts {
  name: string;
  /** Undefined: not known, or not of this object. */
  changing: Readonly<Record<string, string | undefined>>;
}

/** Facts that are told when they are there for the first time, without an old value. */
const TOLD_AT_FIRST = new Set(['updatestate']);

/** `state`: as clients see it. */
export function nodeFacts(
  { record, state: observed, description }: KnownNode,
  { state, member }: { state: string; member: ManagerMember | undefined },
): Facts {
  return {
    name: record.spec.Name || description?.Hostname || '',
    changing: {
      availability: record.spec.Availability,
      role: observed?.role,
      state,
      leader: member && String(member.isLeader),
      reachability: member?.reachability,
    },
  };
}

export function serviceFacts({ record: { spec, template }, run }: KnownService): Facts {
  const mode = modeOf(spec);
  return {
    name: spec.Name ?? '',
    changing: {
      image: spec.TaskTemplate?.ContainerSpec?.Image,
      replicas: mode.kind === 'replicated' ? String(mode.replicas) : undefined,
      updatestate: run?.update?.template === template ? run.update.state : undefined,
    },
  };
}

/** What an event tells of a change. Pure. */
export function changesOf(before: Facts, after: Facts): StringMap {
  const told: StringMap = {};
  for (const [fact, now] of Object.entries(after.changing)) {
    const old = before.changing[fact];
    if (now === undefined || now === old || (old === undefined && !TOLD_AT_FIRST.has(fact))) {
      continue;
    }
    if (old !== undefined) {
      told[`${fact}.old`] = old;
    }
    told[`${fact}.new`] = now;
  }
  return told;
}
