import type { SwarmNetworks } from '../api/types/swarm/networks.ts';
import type {
  ConfigPort,
  NodePort,
  SecretPort,
  ServicePort,
  SwarmPort,
  SwarmRole,
  TaskPort,
} from '../api/types/swarm/ports.ts';
import type {
  SwarmInfo,
  SwarmInitRequest,
  SwarmInspect,
  SwarmJoinRequest,
  SwarmSpec,
  SwarmUpdateFlags,
} from '../api/types/swarm/swarm.ts';
import type { Clock } from '../daemon/base/clock.ts';
import { withTimeout } from '../daemon/base/concurrency/timeout.ts';
import { errorText } from '../daemon/base/errors.ts';
import { limits } from '../daemon/base/limits.ts';
import type { Logger } from '../daemon/base/logger.ts';
import { Agent } from './agent/agent.ts';
import type { Executor } from './agent/executor.ts';
import { BlobsOfManagers } from './blobs/blobs-of-managers.ts';
import type { ManagerBlobs } from './blobs/ports.ts';
import { completeSwarmSpec } from './control/swarm/spec.ts';
import { EventsToManagers } from './told-events/events-to-managers.ts';
import type { ManagerEvents } from './told-events/ports.ts';
import { dropTasks } from './drop-tasks.ts';
import { ImagesOfManagers } from './images/images-of-managers.ts';
import type { ManagerImages } from './images/ports.ts';
import { Manager, type ManagerEngine } from './manager.ts';
import { SwarmNode } from './membership/node.ts';
import type { NodeDeps } from './membership/ports.ts';
import { swarmNetworks } from './networks.ts';

export interface SwarmDeps extends Omit<
  NodeDeps<Manager>,
  'completeSpec' | 'startManager' | 'startAgent' | 'dropTasks'
> {
  /** Of the agent: tasks that this node was given. Kept over daemons until the node leaves. */
  agentDirectory: string;
  executor: Executor;
  engine: ManagerEngine;
}

/**
 * What the API sees of the swarm: the membership of this node, and its manager part where it has one. Outside of a
 * swarm, on workers, and while a manager is not ready, what needs a manager throws unavailable in dockerd's words.
 */
export class Swarm implements SwarmPort, AsyncDisposable {
  readonly #node: SwarmNode<Manager>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** Of the swarm, for the engine of this host. */
  readonly networks: SwarmNetworks;
  /** What managers have, for the tasks of this node. */
  readonly images: ManagerImages;
  /** What the hubs of other managers hold. */
  readonly blobs: ManagerBlobs;
  /** Who is to be told what happens on this node while it is a worker. */
  readonly managerEvents: ManagerEvents;

  constructor({ agentDirectory, executor, engine, ...deps }: SwarmDeps) {
    const { clock, logger } = deps;
    this.#clock = clock;
    this.#logger = logger;
    const images = new ImagesOfManagers({ clock, logger, platform: engine.imageStore.platform });
    this.images = images;
    const blobs = new BlobsOfManagers({ clock, logger });
    this.blobs = blobs;
    const events = new EventsToManagers();
    this.managerEvents = events;
    this.#node = new SwarmNode({
      ...deps,
      completeSpec: completeSwarmSpec,
      startManager: (context) => Promise.resolve(new Manager(context, engine)),
      startAgent: (context) => {
        images.join(context);
        blobs.join(context);
        events.join(context);
        return Agent.start({ ...context, executor, stateDirectory: agentDirectory });
      },
      dropTasks: () => dropTasks({ agentDirectory, executor, logger: deps.logger }),
    });
    const node = this.#node;
    this.networks = swarmNetworks({
      role: () => this.role,
      manager: () => node.manager().control.networks,
      agent: () => node.agent?.networks,
    });
  }

  /** Takes up again what this node was to its swarm. What fails is told by `info`: the engine works without. */
  start(): Promise<void> {
    return this.#node.start();
  }

  get role(): SwarmRole {
    const { LocalNodeState: state, ControlAvailable: isManager } = this.#node.info();
    return state === 'active' ? (isManager ? 'active/manager' : 'active/worker') : state;
  }

  /** Whether this node is a manager, ready or not, and where the managers are; undefined outside of a swarm. */
  get membership(): { isManager: boolean; managers: readonly string[] } | undefined {
    return this.#node.membership;
  }

  async info(): Promise<SwarmInfo> {
    const info = this.#node.info();
    return info.ControlAvailable ? { ...info, ...this.#node.manager().facts } : info;
  }

  /** Also with the ingress network, which whoever publishes a port right after needs, and with this node ready. */
  async init(request: SwarmInitRequest): Promise<string> {
    const id = await this.#node.init(request);
    const manager = this.#node.manager();
    try {
      await manager.ingress.make();
    } catch (error) {
      this.#logger.warn({ error: errorText(error) }, 'the ingress network is left to the leader');
    }
    if (!(await withTimeout(this.#clock, manager.nodeReady(id), limits.swarmJoinMs))) {
      this.#logger.warn({ node: id }, 'the agent of this node has no session with the new swarm yet');
    }
    return id;
  }

  join(request: SwarmJoinRequest): Promise<void> {
    return this.#node.join(request);
  }

  leave(options: { force: boolean }): Promise<void> {
    return this.#node.leave(options);
  }

  unlock(unlockKey: string): Promise<void> {
    return this.#node.unlock(unlockKey);
  }

  async inspect(): Promise<SwarmInspect> {
    return await this.#node.manager().control.inspect();
  }

  async update(version: number, spec: SwarmSpec, flags: SwarmUpdateFlags): Promise<void> {
    await this.#node.manager().control.update(version, spec, flags);
  }

  async unlockKey(): Promise<string> {
    return await this.#node.manager().control.unlockKey();
  }

  get nodes(): NodePort {
    return this.#node.manager().control.nodes;
  }

  get services(): ServicePort {
    return this.#node.manager().control.services;
  }

  get tasks(): TaskPort {
    return this.#node.manager().control.tasks;
  }

  get secrets(): SecretPort {
    return this.#node.manager().control.secrets;
  }

  get configs(): ConfigPort {
    return this.#node.manager().control.configs;
  }

  /** The daemon ends: tasks run on, and so does the member of the store. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#node[Symbol.asyncDispose]();
  }
}
