import type { ServiceSpec } from '../../api/types/swarm/service.ts';
import { TaskState } from '../objects/task-state.ts';

/** How many tasks a service wants, and which end they are wanted to come to. */
export type Mode =
  | { kind: 'replicated'; replicas: number }
  | { kind: 'global' }
  | { kind: 'replicatedJob'; completions: number; concurrent: number }
  | { kind: 'globalJob' };

/** Replicated with one replica where a specification names none. Pure. */
export function modeOf({ Mode: mode }: ServiceSpec): Mode {
  if (mode?.Global !== undefined) {
    return { kind: 'global' };
  }
  if (mode?.GlobalJob !== undefined) {
    return { kind: 'globalJob' };
  }
  if (mode?.ReplicatedJob !== undefined) {
    const concurrent = mode.ReplicatedJob.MaxConcurrent ?? 1;
    return {
      kind: 'replicatedJob',
      concurrent,
      completions: mode.ReplicatedJob.TotalCompletions ?? concurrent,
    };
  }
  return { kind: 'replicated', replicas: mode?.Replicated?.Replicas ?? 1 };
}

export function isJob(mode: Mode): boolean {
  return mode.kind === 'replicatedJob' || mode.kind === 'globalJob';
}

export function isGlobal(mode: Mode): boolean {
  return mode.kind === 'global' || mode.kind === 'globalJob';
}

/** The state that tasks of such a service are for in the end. */
export function goalOf(mode: Mode): TaskState {
  return isJob(mode) ? TaskState.complete : TaskState.running;
}
