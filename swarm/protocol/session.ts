import type { NodeDescription, NodeSpec } from '../../api/types/swarm/node.ts';
import type { PortConfig } from '../../api/types/swarm/service.ts';
import type { GenericResource, TaskSpec } from '../../api/types/swarm/task.ts';
import type { StringMap } from '../../api/types/maps.ts';
import type { TaskState } from '../objects/task-state.ts';
import type { TaskStatus } from '../objects/task.ts';
import type { NetworkAddresses } from '../objects/network.ts';
import type { NetworksChange } from './networks.ts';

/** A manager that a node may call: `HOST:PORT`. */
export interface ManagerAddress {
  node: string;
  addr: string;
}

/** `session.open`: a node's first words. The node's id is that of its certificate. */
export interface SessionRequest {
  description: NodeDescription;
  /** Where other nodes reach it; empty: where the call came from. */
  addr: string;
  /** Where overlay traffic reaches it, where that is another address. */
  dataAddr?: string;
  /** What its interfaces and its own networks are in, `ADDRESS/LENGTH`; absent: nothing. */
  subnets?: string[];
}

/** What a manager tells a node, in order, for as long as the session's stream is open. */
export type SessionMessage =
  /** The first one. The node says that it lives every `heartbeatMs`, with `session.heartbeat`. */
  | { kind: 'welcome'; session: string; heartbeatMs: number }
  | { kind: 'managers'; managers: ManagerAddress[] }
  /** What the user wants of this node, and the role that its certificate shall have. */
  | { kind: 'node'; spec: NodeSpec; role: 'worker' | 'manager' }
  /**
   * What nodes trust (PEM), and which authority's certificates nodes shall have: base64 of DER of its name and public
   * key. A node whose certificate has another issuer renews it.
   */
  | { kind: 'root'; trustPem: string; issuerSubject: string; issuerPublicKey: string }
  | { kind: 'networks'; change: NetworksChange }
  | { kind: 'assignments'; assignments: Assignments }
  /** Send the log of these tasks; ends with `endLogs`. */
  | { kind: 'logs'; subscription: LogSubscription }
  | { kind: 'endLogs'; id: string };

/** The answer to `session.open` and others of a session that another one of the same node has ended: open a new one. */
export const SESSION_INVALID = 'session invalid';

/** `session.heartbeat`: the node lives. */
export interface Heartbeat {
  session: string;
}

/** When the next one is to come: the period may have changed. */
export interface HeartbeatAnswer {
  heartbeatMs: number;
}

/** `session.leave`: the node leaves the swarm for good and is down from now on. */
export interface Leave {
  session: string;
}

/** `full`: everything, what is not named is gone. Later ones say what is different, each on the one before. */
export interface Assignments {
  full: boolean;
  /** Large ones come in parts: the next message has more of the same, and is acted on with the last part only. */
  more?: true;
  tasks: AssignedTask[];
  /** Ids. The node removes what is left of these tasks. */
  removedTasks: string[];
  /** Come before the tasks that need them, and go with the last of these. */
  secrets: AssignedData[];
  removedSecrets: string[];
  configs: AssignedData[];
  removedConfigs: string[];
}

/** A task for its node: everything that running it needs, so that the node asks nobody. */
export interface AssignedTask {
  id: string;
  desired: TaskState;
  service: { id: string; name: string; labels: StringMap };
  /** Absent for tasks of global services and jobs. */
  slot?: number;
  /** As scheduled; never changes for a task. */
  spec: TaskSpec;
  /** Published on the node itself: those of mode `host`. */
  hostPorts: PortConfig[];
  generic: GenericResource[];
  networks: NetworkAddresses[];
  /** `X-Registry-Auth` of the service. */
  registryAuth?: string;
  /** The swarm's default, where `spec` names none. */
  logDriver?: TaskSpec['LogDriver'];
  /** What the manager knows of it: a node that has forgotten the task does not run it twice. */
  known?: TaskStatus;
}

/** A secret or config. `data` is base64. */
export interface AssignedData {
  id: string;
  name: string;
  data: string;
  /** Its content is a template, for each task its own. */
  isTemplate: boolean;
}

/** `session.report`: statuses of own tasks, whole ones, the newest of each. `at` and `running` are the manager's. */
export interface StatusReport {
  session: string;
  statuses: Omit<TaskStatus, 'at' | 'running'>[];
}

/** What of a session's node is described anew: `session.describe`. */
export interface DescriptionReport {
  session: string;
  description: NodeDescription;
  /** As at the beginning of the session. */
  subnets?: string[];
}

export interface LogSubscription {
  id: string;
  /** Tasks whose log is wanted. */
  tasks: string[];
  follow: boolean;
  stdout: boolean;
  stderr: boolean;
  /** UNIX time in nanoseconds, decimal. */
  since?: string;
  until?: string;
  /** Lines from the end; absent = all. */
  tail?: number;
}

/** First value of the upload `logs.publish`; then come lines, and where these are not all a `LogFailure`. */
export interface LogHead {
  session: string;
  /** Its id. */
  subscription: string;
}

/** Why lines are missing, as a sentence for the user. The last value. */
export interface LogFailure {
  error: string;
}

/** A line of one subscription, sent as it comes; the end of the stream is the end of the node's lines. */
export interface LogLine {
  task: string;
  stream: 'stdout' | 'stderr';
  /** UNIX time in nanoseconds, decimal. */
  at: string;
  /** base64, with its line feed where it had one. */
  line: string;
  /** Of the log driver (`label`, `env`). */
  attributes?: StringMap;
}
