/**
 * What the HTTP edge needs of the swarm. `swarm/swarm.ts` satisfies it: outside of a swarm, and on workers, every
 * method of a manager throws `unavailable` with dockerd's words. Shapes are those of API 1.55.
 *
 * `ref` is a full id, a name or a unique id prefix. `version` is the `Index` that the client has read: an update on
 * another one throws internal `update out of sequence`, as dockerd does.
 */
import type { ByteStream, Filters, LogsOptions } from '../requests.ts';
import type { ConfigInspect, ConfigRequest } from './config.ts';
import type { NodeInspect, NodeSpec } from './node.ts';
import type { SecretInspect, SecretRequest } from './secret.ts';
import type { ServiceInspect, ServiceSpec } from './service.ts';
import type {
  SwarmInfo,
  SwarmInitRequest,
  SwarmInspect,
  SwarmJoinRequest,
  SwarmSpec,
  SwarmUpdateFlags,
} from './swarm.ts';
import type { TaskInspect } from './task.ts';

/** What a node is to its swarm, as the header `Swarm` of `_ping` says it. */
export type SwarmRole = 'inactive' | 'pending' | 'error' | 'locked' | 'active/worker' | 'active/manager';

export interface SwarmPort {
  /** Costs nothing: every `_ping` asks. */
  readonly role: SwarmRole;
  /** Answers within 2 s, whatever the managers do. */
  info(): Promise<SwarmInfo>;

  /** Answers the id of this node. */
  init(request: SwarmInitRequest): Promise<string>;
  join(request: SwarmJoinRequest): Promise<void>;
  leave(options: { force: boolean }): Promise<void>;
  unlock(unlockKey: string): Promise<void>;

  inspect(): Promise<SwarmInspect>;
  update(version: number, spec: SwarmSpec, flags: SwarmUpdateFlags): Promise<void>;
  /** `''`: managers are not locked. */
  unlockKey(): Promise<string>;

  readonly nodes: NodePort;
  readonly services: ServicePort;
  readonly tasks: TaskPort;
  readonly secrets: SecretPort;
  readonly configs: ConfigPort;
}

export interface NodePort {
  list(filters: Filters): Promise<NodeInspect[]>;
  inspect(ref: string): Promise<NodeInspect>;
  update(ref: string, version: number, spec: NodeSpec): Promise<void>;
  remove(ref: string, options: { force: boolean }): Promise<void>;
}

/** What comes with a specification. */
export interface ServiceWriteOptions {
  /** `X-Registry-Auth` as it came: stored, and handed to nodes for their pulls. */
  registryAuth?: string;
  /** Clients before API 1.30 leave it to the manager to find the digest of an image. */
  pinImage: boolean;
  signal: AbortSignal;
}

export interface ServiceUpdateOptions extends ServiceWriteOptions {
  version: number;
  /** Which credentials to keep where none came: `spec` (the present ones) or `previous-spec`. */
  registryAuthFrom: string;
  /** `previous`: back to the previous specification, whatever was sent. `''` otherwise. */
  rollback: string;
}

export interface ServicePort {
  list(filters: Filters, options: { status: boolean }): Promise<ServiceInspect[]>;
  /** `insertDefaults`: with what is not said and therefore counts. */
  inspect(ref: string, options: { insertDefaults: boolean }): Promise<ServiceInspect>;
  create(spec: ServiceSpec, options: ServiceWriteOptions): Promise<{ ID: string; Warnings?: string[] }>;
  update(ref: string, spec: ServiceSpec, options: ServiceUpdateOptions): Promise<{ Warnings?: string[] }>;
  remove(ref: string): Promise<void>;
  logs(ref: string, options: LogsOptions): Promise<ByteStream>;
}

export interface TaskPort {
  list(filters: Filters): Promise<TaskInspect[]>;
  inspect(ref: string): Promise<TaskInspect>;
  logs(ref: string, options: LogsOptions): Promise<ByteStream>;
}

export interface SecretPort {
  list(filters: Filters): Promise<SecretInspect[]>;
  inspect(ref: string): Promise<SecretInspect>;
  create(request: SecretRequest): Promise<{ ID: string }>;
  update(ref: string, version: number, request: SecretRequest): Promise<void>;
  remove(ref: string): Promise<void>;
}

export interface ConfigPort {
  list(filters: Filters): Promise<ConfigInspect[]>;
  inspect(ref: string): Promise<ConfigInspect>;
  create(request: ConfigRequest): Promise<{ ID: string }>;
  update(ref: string, version: number, request: ConfigRequest): Promise<void>;
  remove(ref: string): Promise<void>;
}
