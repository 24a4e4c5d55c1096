/** What `Control` needs of the other parts of a manager. `swarm/manager.ts` fills it. */
import type { NodeState, Reachability, TlsInfo } from '../../api/types/swarm/node.ts';
import type { Platform, TaskSpec } from '../../api/types/swarm/task.ts';
import type { RootWish } from '../ca/roots/decision.ts';
import type { TaskStatus } from '../objects/task.ts';
import type { LogsItem, LogsRequest } from '../protocol/logs.ts';
import type { Condition, Write as StoreWrite } from '../store/port.ts';

/** The swarm's root, its tokens and its unlock key (implemented in swarm/membership). */
export interface RootAuthority {
  tokens(): Promise<{ worker: string; manager: string }>;
  tlsInfo(): TlsInfo;
  readonly isRotating: boolean;
  /** As users keep it; `''` where managers are not locked. */
  unlockKey(): Promise<string>;
  /**
   * What has to be written for a change of the root, the tokens or the locking, in the same transaction as the swarm's
   * specification: all of it stands, or nothing. Asks external authorities where it has to. It is asked anew for each
   * attempt, as the root may have changed. Throws invalid_argument in swarmkit's words, without a prefix.
   */
  prepare(change: RootChange): Promise<RootWrites>;
  /** What `prepare` answered has been written: for what lies outside of the store (keys of managers, say). */
  applied(change: RootChange): Promise<void>;
  /** To be written where a node is removed, with it: its certificate is not taken any more. */
  removalOf(node: string): readonly StoreWrite[];
}

export interface RootChange {
  /** What the specification says of the root: always told, as `ForceRotate` or an external authority may be new. */
  wish: RootWish;
  rotateWorkerToken: boolean;
  rotateManagerToken: boolean;
  rotateUnlockKey: boolean;
  /** Managers are to be locked from now on; the same as before where nothing changes. */
  autoLock: boolean;
}

export interface RootWrites {
  conditions: readonly Condition[];
  writes: readonly StoreWrite[];
}

/** A member of the store: a node that is a manager now. */
export interface ManagerMember {
  node: string;
  /** `HOST:PORT` for nodes. */
  addr: string;
  isLeader: boolean;
  reachability: Reachability;
}

/** From memory: asked at each list of the nodes. */
export interface Managers {
  list(): readonly ManagerMember[];
}

/** In-between states of tasks, that only the leader has; undefined where the stored status is the newest. */
export type StatusOf = (task: string) => TaskStatus | undefined;

/** Lines of tasks wherever they run; ends as was asked for, or when `signal` comes (implemented by the dispatcher). */
export type ReadLogs = (request: LogsRequest, signal: AbortSignal) => AsyncIterable<LogsItem>;

/** What the manager's own engine knows of images. */
export interface ImageNames {
  isReference(text: string): boolean;
  /**
   * The reference with the digest that its registry has for it (`name:tag@sha256:...`), and the platforms of the image.
   * One with a digest stays as it is. `registryAuth` as the client sent it. Throws where the registry does not tell.
   */
  pin(
    reference: string,
    registryAuth: string | undefined,
    signal: AbortSignal,
  ): Promise<{ image: string; platforms: readonly Platform[] }>;
}

/** A state of a node that the leader knows and does not store; undefined: the stored one counts. */
export type MarkOf = (node: string) => { state: NodeState; message: string } | undefined;

/** A network of this host by name or id; undefined where there is none. */
export type LocalNetwork = (ref: string) => { name: string; driver: string } | undefined;

/** What this host's interfaces are in, `ADDRESS/LENGTH`: new networks keep off it. */
export type HostSubnets = () => readonly string[];

/** Throws invalid_argument for templates in values of a task that never expand. */
export type CheckTemplates = (task: TaskSpec) => void;
