import type { PortConfig } from '../../api/types/swarm/service.ts';
import type { GenericResource } from '../../api/types/swarm/task.ts';
import type { NetworkAddresses } from './network.ts';
import type { TaskState } from './task-state.ts';

/**
 * What the planner decided of a task: its only writer. Small on purpose, as it is written some times in a task's life:
 * what to run stands in the template, what became of it in `TaskStatus`. All times are milliseconds since 1970 UTC by
 * the managers' clocks.
 */
export interface TaskRecord {
  id: string;
  service: string;
  /** Replicated services count from 1, replicated jobs from 0. Absent for global ones. */
  slot?: number;
  /** Global services and jobs: the node that this task is for, whether it may run there yet or not. */
  pinned?: string;
  /** Absent until a node has been chosen. */
  node?: string;
  /** Which `TemplateRecord` of the service says what to run. */
  template: number;
  desired: TaskState;
  created: number;
  updated: number;
  /** Absent for services that are no jobs. */
  iteration?: number;
  gate?: TaskGate;
  /** Made by a rolling update: its early end counts as a failure of that. */
  byUpdate?: true;
  refusal?: TaskRefusal;
  generic?: GenericResource[];
  /** Given with its node, and its own until it is gone. */
  networks?: NetworkAddresses[];
}

/** A task desired `ready` is let through to `running` once both hold. In the store, so that a new leader knows it. */
export interface TaskGate {
  notBefore: number;
  /** A task of the same slot that has to stop first; a minute after `created` it is waited for no more. */
  after?: string;
}

/** Why a task has no node yet. Written once per reason, so that it is seen in the task's status. */
export interface TaskRefusal {
  /** `new` where something could not be allocated, `pending` where no node fits. */
  state: typeof TaskState.new | typeof TaskState.pending;
  error: string;
  at: number;
}

/** What became of a task: written for its node, and by the planner where no node can say it any more. */
export interface TaskStatus {
  id: string;
  state: TaskState;
  /** When the manager learned of it; a worker's clock may be off. */
  at: number;
  /** When the manager learned that it runs; kept when it ends. */
  running?: number;
  message: string;
  error?: string;
  container?: { id: string; pid?: number; exitCode?: number };
  /** Host ports that the node chose. */
  ports?: PortConfig[];
}
