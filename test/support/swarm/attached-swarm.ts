import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Clock } from '../../../daemon/base/clock.ts';
import { EngineError } from '../../../daemon/base/errors.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Agent } from '../../../swarm/agent/agent.ts';
import type { AttachmentRecord } from '../../../swarm/objects/attachment.ts';
import type { Write } from '../../../swarm/objects/parts.ts';
import type { ManagerAddress } from '../../../swarm/protocol/session.ts';
import type { RpcClient } from '../../../swarm/rpc/port.ts';
import { settled } from '../fakes/manual-clock.ts';
import { dispatching, type Dispatching } from './dispatched-node.ts';
import { FakeExecutor } from './fake-executor.ts';
import { SwarmRig } from './manager-rig.ts';
import { SeededRandom } from '../seeded-random.ts';

const STEPS = 5;

/** A host: what an agent runs on, which outlives it. */
export interface Host {
  executor: FakeExecutor;
  directory: string;
  agent: Agent;
}

/** Managers and agents as they are, with a store in memory, engines that are none, and no network between. */
export class AttachedSwarm implements AsyncDisposable {
  readonly rig = new SwarmRig();
  /** By address. */
  readonly managers = new Map<string, Dispatching>();
  readonly hosts = new Map<string, Host>();
  /** Calls that a test refuses, or looks at; by the node that calls. */
  before: (method: string, node: string) => Promise<void> | void = () => undefined;
  /** Calls whose answer a test loses: the manager has done what it was asked. */
  after: (method: string, node: string) => Promise<void> | void = () => undefined;

  /** The first one leads. */
  static async start(managers: readonly string[], ...writes: Write[][]): Promise<AttachedSwarm> {
    const swarm = new AttachedSwarm();
    for (const id of managers) {
      swarm.managers.set(`${id}:2377`, await dispatching(id, swarm.rig));
    }
    const [first] = swarm.managers.values();
    await first?.manager.begin(...writes);
    await swarm.lead(managers[0] ?? '');
    return swarm;
  }

  async lead(id: string): Promise<void> {
    const { manager, dispatcher } = this.manager(id);
    await manager.lead({ loops: [dispatcher] });
    await this.pass(100);
  }

  /** A manager leads no more; it answers still. */
  async end(id: string): Promise<void> {
    const ended = this.manager(id).manager.leadership?.[Symbol.asyncDispose]();
    await this.pass(100);
    await ended;
  }

  manager(id: string): Dispatching {
    const found = this.managers.get(`${id}:2377`);
    if (found === undefined) {
      throw new Error(`there is no manager ${id}`);
    }
    return found;
  }

  /** As any manager has them. */
  get attachments(): AttachmentRecord[] {
    const [first] = this.managers.values();
    return [...(first?.manager.cluster.state.attachments.values() ?? [])];
  }

  /** In steps: what one leads to may set a timer of its own. */
  async pass(ms: number): Promise<void> {
    await settled();
    for (let step = 0; step < STEPS; step += 1) {
      await this.rig.clock.advance(ms / STEPS);
    }
  }

  /** A daemon of this node starts, where none was or the last one ended. */
  async startNode(node: string, more: { dataAddr?: string; clock?: Clock } = {}): Promise<Agent> {
    const host = this.hosts.get(node);
    await host?.agent[Symbol.asyncDispose]();
    const executor = host?.executor ?? new FakeExecutor();
    const directory = host?.directory ?? mkdtempSync(path.join(tmpdir(), 'berth-test-attached-'));
    const agent = await Agent.start({
      executor,
      dial: (addr) => this.#client(addr, node),
      managers: () => this.#addresses(),
      clock: more.clock ?? this.rig.clock,
      logger: silentLogger,
      random: new SeededRandom(node.length),
      stateDirectory: directory,
      node: { id: node, hostname: node },
      addr: '',
      dataAddr: more.dataAddr ?? '',
      tlsInfo: () => ({}),
      onNode: () => undefined,
      onRoot: () => undefined,
      onManagers: () => undefined,
    });
    this.hosts.set(node, { executor, directory, agent });
    await this.pass(500);
    return agent;
  }

  executor(node: string): FakeExecutor {
    const host = this.hosts.get(node);
    if (host === undefined) {
      throw new Error(`there is no node ${node}`);
    }
    return host.executor;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { agent, directory } of this.hosts.values()) {
      await agent[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true, force: true });
    }
    for (const { manager } of this.managers.values()) {
      await manager.leadership?.[Symbol.asyncDispose]();
      await manager.cluster[Symbol.asyncDispose]();
    }
  }

  #addresses(): ManagerAddress[] {
    return [...this.managers.keys()].map((addr) => ({ node: addr.split(':')[0] ?? '', addr }));
  }

  #client(addr: string, node: string): RpcClient {
    const caller = {
      identity: { node, role: 'swarm-worker' as const, cluster: 'c' },
      address: `192.168.0.${node.slice(1)}`,
    };
    const method = (name: string) => {
      const found = this.managers.get(addr)?.dispatcher.methods.find((each) => each.name === name);
      if (found === undefined) {
        throw new EngineError('unavailable', `connect to ${addr}: no answer`);
      }
      return found;
    };
    const before = (name: string) => this.before(name, node);
    const after = (name: string) => this.after(name, node);
    return {
      addr,
      call: async (name, body, { signal = new AbortController().signal } = {}) => {
        await before(name);
        const found = method(name);
        // As over the network: what is sent is not shared.
        const answer =
          found.kind === 'call'
            ? await found.handle(JSON.parse(JSON.stringify(body)), caller, signal)
            : undefined;
        await after(name);
        return JSON.parse(JSON.stringify(answer ?? null));
      },
      stream: async function* stream(name, body, signal) {
        await before(name);
        const found = method(name);
        if (found.kind === 'stream') {
          for await (const value of found.handle(body, caller, signal)) {
            yield JSON.parse(JSON.stringify(value));
          }
        }
      },
      upload: () => Promise.reject(new Error('not called here')),
      [Symbol.dispose]: () => undefined,
    };
  }
}
