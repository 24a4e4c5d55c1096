import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../../daemon/base/clock.ts';
import { EngineError, failedPrecondition } from '../../../daemon/base/errors.ts';
import { silentLogger, type Logger } from '../../../daemon/base/logger.ts';
import type { AgentPart } from '../../../swarm/agent/ports.ts';
import { startLeading } from '../../../swarm/leader/start-leading.ts';
import type { Leadership } from '../../../swarm/leader/ports.ts';
import { SwarmNode } from '../../../swarm/membership/node.ts';
import type { AgentContext, ManagerContext, ManagerPart } from '../../../swarm/membership/ports.ts';
import { put } from '../../../swarm/objects/parts.ts';
import type { ManagerAddress, SessionMessage } from '../../../swarm/protocol/session.ts';
import { SeededRandom } from '../seeded-random.ts';

const ETCD = process.env['BERTH_TEST_ETCD'] ?? '/usr/bin/etcd';
const POLL_MS = 100;

/** A manager that leads, and answers the agents of this test. */
export interface TestManager extends ManagerPart {
  context: ManagerContext;
  leadership: Leadership;
}

interface Told {
  role?: 'worker' | 'manager';
  root: Extract<SessionMessage, { kind: 'root' }>;
  managers: ManagerAddress[];
}

/** A host of a swarm within this process: its own directory, its own address of 127.0.0.0/8, its own etcd. */
export class TestNode implements AsyncDisposable {
  readonly directory = mkdtempSync('/tmp/berth-test-node-');
  readonly ip: string;
  /** Agents of this test that have left with their tasks. */
  tasksEnded = 0;
  /** No agent answers or asks: as if the host were cut off from the leader. */
  isCut = false;
  /** What its host has, for addresses that nobody names. */
  hostAddresses: string[] = [];
  /** How far its clock goes before ours. */
  skewMs = 0;
  node: SwarmNode<TestManager>;

  readonly index: number;
  readonly logger: Logger;

  constructor(index: number, logger: Logger = silentLogger) {
    this.index = index;
    this.logger = logger;
    this.ip = `127.${(process.pid >> 8) & 255}.${process.pid & 255}.${index}`;
    this.node = this.#make();
  }

  get addr(): string {
    return `${this.ip}:2377`;
  }

  get addresses(): { ListenAddr: string; AdvertiseAddr: string } {
    return { ListenAddr: this.addr, AdvertiseAddr: this.ip };
  }

  get manager(): TestManager {
    return this.node.manager();
  }

  get id(): string {
    return this.node.info().NodeID;
  }

  file(name: string): string {
    return path.join(this.directory, 'swarm', name);
  }

  has(name: string): boolean {
    return existsSync(this.file(name));
  }

  text(name: string): string {
    return readFileSync(this.file(name), 'utf8');
  }

  /** kill -9 of its member of the store. */
  killStore(): void {
    // As the engine has written it.
    const { process: member } = JSON.parse(
      readFileSync(path.join(this.directory, 'run/etcd.pid'), 'utf8'),
    ) as {
      process: { pid: number };
    };
    process.kill(member.pid, 'SIGKILL');
  }

  /** The host loses its power: neither daemon nor store is left. */
  async stop(): Promise<void> {
    await this.node[Symbol.asyncDispose]();
    this.killStore();
  }

  /** Another daemon takes the place of this one; `between` happens while there is none. */
  async restart(between: () => void | Promise<void> = () => undefined): Promise<void> {
    await this.node[Symbol.asyncDispose]();
    await between();
    this.node = this.#make();
    await this.node.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.node[Symbol.asyncDispose]();
    this.node = this.#make();
    await this.node.start();
    // One that has left already refuses.
    await this.node.leave({ force: true }).catch(() => undefined);
    rmSync(this.directory, { recursive: true, force: true });
  }

  #make(): SwarmNode<TestManager> {
    return new SwarmNode({
      clock: {
        nowNano: () => systemClock.nowNano() + BigInt(this.skewMs) * 1_000_000n,
        monotonicMs: () => systemClock.monotonicMs(),
        setTimeout: (...of) => systemClock.setTimeout(...of),
      },
      logger: this.logger,
      random: new SeededRandom(process.pid * 100 + this.index + Date.now()),
      dataDirectory: path.join(this.directory, 'swarm'),
      runDirectory: path.join(this.directory, 'run'),
      etcd: ETCD,
      hostname: `host${this.index}`,
      interfaces: () => [{ name: 'eth0', addresses: this.hostAddresses }],
      completeSpec: (spec) => ({ Name: 'default', ...spec }),
      startManager: (context) => this.#startManager(context),
      startAgent: (context) => this.#startAgent(context),
      dropTasks: () => Promise.resolve(),
    });
  }

  async #startManager(context: ManagerContext): Promise<TestManager> {
    const { cluster } = context;
    const leadership = startLeading({ ...context, loops: context.loops });
    const served = context.serve([
      {
        name: 'test.look',
        allowed: 'node',
        kind: 'call',
        handle: async (body, { identity }) => {
          if (leadership.leading === undefined) {
            throw failedPrecondition('another manager leads', {
              details: { leader: leadership.leader?.addr },
            });
          }
          const id = identity?.node ?? '';
          // What `#startAgent` sends.
          const { TLSInfo } = body as { TLSInfo: AgentContext['tlsInfo'] };
          const description = { TLSInfo: TLSInfo as ReturnType<AgentContext['tlsInfo']> };
          if (
            JSON.stringify(cluster.part('nodeDescription', id)?.description) !== JSON.stringify(description)
          ) {
            await cluster.commit({ conditions: [], parts: [put('nodeDescription', { id, description })] });
          }
          const role = cluster.part('nodeState', id)?.role;
          const told: Told = {
            ...(role === undefined ? {} : { role }),
            root: context.facts.rootFor(id),
            managers: [...context.facts.managers()],
          };
          return told;
        },
      },
    ]);
    return {
      context,
      leadership,
      stays: '',
      leaving: () => Promise.resolve(),
      resign: () => leadership.resign(),
      [Symbol.asyncDispose]: async () => {
        served[Symbol.dispose]();
        await leadership[Symbol.asyncDispose]();
      },
    };
  }

  async #startAgent(context: AgentContext): Promise<AgentPart> {
    const closed = new AbortController();
    const ask = async (): Promise<void> => {
      const addrs = this.isCut ? [] : context.managers().map(({ addr }) => addr);
      for (const addr of addrs) {
        using client = context.dial(addr);
        try {
          // What `#startManager` answers.
          const told = (await client.call('test.look', { TLSInfo: context.tlsInfo() })) as Told;
          if (closed.signal.aborted) {
            return;
          }
          if (told.role !== undefined) {
            context.onNode({ spec: { Role: told.role, Availability: 'active' }, role: told.role });
          }
          context.onRoot(told.root);
          context.onManagers(told.managers);
          return;
        } catch (error) {
          const leader = error instanceof EngineError ? error.details['leader'] : undefined;
          if (typeof leader === 'string' && !addrs.includes(leader)) {
            addrs.push(leader);
          }
        }
      }
    };
    const loop = async (): Promise<void> => {
      while (!closed.signal.aborted) {
        await ask();
        await new Promise((resolve) => {
          setTimeout(resolve, POLL_MS);
        });
      }
    };
    const running = loop();
    const close = async (): Promise<void> => {
      closed.abort();
      await running;
    };
    return {
      trouble: undefined,
      networks: {
        attach: () => Promise.reject(new Error('agents of this test are in no network')),
        detach: () => Promise.resolve(),
      },
      reconnect: () => undefined,
      leave: async () => {
        await close();
        this.tasksEnded += 1;
      },
      [Symbol.asyncDispose]: close,
    };
  }
}
