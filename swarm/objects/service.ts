import type { EndpointSpec, PortConfig, ServiceSpec, UpdateState } from '../../api/types/swarm/service.ts';
import type { TaskSpec } from '../../api/types/swarm/task.ts';
import type { NetworkAddresses } from './network.ts';

/** The user's part of a service, written by the API, and by the updater only where it rolls back. */
export interface ServiceRecord {
  id: string;
  /** Milliseconds since 1970 UTC. */
  created: number;
  updated: number;
  /** As sent, with `TaskTemplate` inside. */
  spec: ServiceSpec;
  /** The revision under which `spec.TaskTemplate` and `spec.EndpointSpec` are kept as a template. */
  template: number;
  /** The highest revision ever given out: a revision never means two things while a task names it. */
  templatesIssued: number;
  /** The specification was come back to: by its user, or as an update failed, which the message says. */
  rollback?: { message: string };
  /** Jobs only. Raised by each update: tasks of older iterations are removed. */
  job?: { iteration: number; lastExecution: number };
}

/** The specification before the last update, to roll back to. Absent after a rollback. */
export interface PreviousServiceRecord {
  id: string;
  spec: ServiceSpec;
  template: number;
}

/** What a task runs. Kept by revision until no task and no service names it. */
export interface TemplateRecord {
  /** `SERVICE/REVISION`. */
  id: string;
  task: TaskSpec;
  endpoint?: EndpointSpec;
}

/** The system's part of a service, written by the planner. */
export interface ServiceRunRecord {
  id: string;
  /** Published ports as allocated, ingress and host mode, in the order of the specification. */
  ports?: PortConfig[];
  /** The revision of the template whose ports these are. */
  portsOf?: number;
  /** Why ports could not be given; told in the status of each task that waits for them. */
  portsError?: string;
  /** One for each network of an endpoint mode vip, the ingress network among them. */
  vips?: NetworkAddresses[];
  update?: UpdateRecord;
}

/** A rolling update. In the store, with what failed so far, so that a new leader goes on where the old one was. */
export interface UpdateRecord {
  state: UpdateState;
  message: string;
  started: number;
  completed?: number;
  /** The revision that the tasks are brought to. */
  template: number;
  /** Slots that were not up to date at the start: what the failure ratio refers to. */
  slots: number;
  /** Tasks that ended too early. Their ids, so that none is counted twice. */
  failed: string[];
}

export function templateId(service: string, revision: number): string {
  return `${service}/${revision}`;
}
