import { errorText } from '../../daemon/base/errors.ts';
import { Cluster } from '../../swarm/cluster/cluster.ts';
import { Dispatcher } from '../../swarm/dispatcher/dispatcher.ts';
import { Compaction } from '../../swarm/leader/compaction.ts';
import type { Leadership, Leading } from '../../swarm/leader/ports.ts';
import { startLeading } from '../../swarm/leader/start-leading.ts';
import type { Caller, Method } from '../../swarm/rpc/port.ts';
import type { MemoryCall, MemoryFault } from '../../swarm/store/memory/faults.ts';
import { MemoryStore } from '../../swarm/store/memory/memory-store.ts';
import { failureLogger } from './logger.ts';
import { VirtualClock } from './virtual-clock.ts';
import type { Manager, World } from './world.ts';

const CLOCK_SKEW_MS = 5_000;
const FACTS = {
  managers: () => [],
  rootFor: () => ({ kind: 'root' as const, trustPem: '', issuerSubject: '', issuerPublicKey: '' }),
  subscribe: () => ({ [Symbol.dispose]: () => undefined }),
};

/** A manager as it is, leader and dispatcher, on a clock, a store and a network that are none. */
export class SimulatedManager implements Manager {
  readonly #clock: VirtualClock;
  commitsLeft = Number.POSITIVE_INFINITY;
  isDead = false;
  readonly #world: World;
  readonly #name: string;
  #cluster: Cluster | undefined;
  #dispatcher: Dispatcher | undefined;
  #leadership: Leadership | undefined;

  constructor(world: World, name: string) {
    this.#world = world;
    this.#name = name;
    this.#clock = new VirtualClock(world.queue, world.between(-CLOCK_SKEW_MS, CLOCK_SKEW_MS));
  }

  async start(): Promise<void> {
    const clock = this.#clock;
    const { random, store } = this.#world;
    const logger = failureLogger(this.#world, this.#name);
    const way = new MemoryStore({ clock, cluster: store.memory, faults: (call) => this.#fault(call) });
    this.#cluster = await Cluster.open({ clock, logger, store: way });
    this.#dispatcher = new Dispatcher({
      clock,
      random,
      logger,
      cluster: this.#cluster,
      facts: FACTS,
      unseal: (_key, sealed) => sealed,
      dial: () => {
        throw new Error('logs are not simulated');
      },
    });
    if (this.isDead) {
      return;
    }
    this.#leadership = startLeading({
      clock,
      random,
      logger,
      cluster: this.#cluster,
      nodeId: this.#name,
      addr: `${this.#name}:2377`,
      loops: [this.#dispatcher, new Compaction({ clock, logger, isFull: async () => false })],
    });
  }

  get now(): number {
    return this.#clock.now;
  }

  get leading(): Leading | undefined {
    return this.isDead ? undefined : this.#leadership?.leading;
  }

  get cluster(): Cluster | undefined {
    return this.#cluster;
  }

  resign(): void {
    void this.#leadership?.resign().catch((error: unknown) => this.#fail(error));
  }

  kill(): void {
    if (this.isDead) {
      return;
    }
    this.#world.note(`${this.#name} dies`);
    this.isDead = true;
    const end = async (): Promise<void> => {
      await this.#leadership?.[Symbol.asyncDispose]();
      await this.#cluster?.[Symbol.asyncDispose]();
    };
    void end().catch((error: unknown) => this.#fail(error));
  }

  method<K extends Method['kind']>(name: string, kind: K): Extract<Method, { kind: K }> {
    const method = this.isDead ? undefined : this.#dispatcher?.methods.find((each) => each.name === name);
    if (method?.kind !== kind) {
      throw new Error('nobody answers');
    }
    // It has just been looked at.
    return method as Extract<Method, { kind: K }>;
  }

  callerOf(node: string): Caller {
    return { identity: { node, role: 'swarm-worker', cluster: 'c' }, address: '' };
  }

  #fault(call: MemoryCall): MemoryFault | undefined {
    const world = this.#world;
    if (call === 'commit' && this.leading !== undefined) {
      this.commitsLeft -= 1;
      if (this.commitsLeft < 0) {
        this.kill();
      }
    }
    if (this.isDead || (call === 'commit' && world.store.isFull)) {
      return { kind: 'unavailable' };
    }
    if (call === 'commit' && world.happens(0.005)) {
      world.note(`an answer of the store to ${this.#name} is lost`);
      return { kind: 'lost answer' };
    }
    if (call === 'commit' && world.happens(0.005)) {
      world.note(`a commit of ${this.#name} comes to stand late`);
      return { kind: 'late', ms: world.between(100, 10_000) };
    }
    if (call === 'commit' && world.happens(0.005)) {
      return { kind: 'conflict' };
    }
    return call === 'commit' || call === 'watch'
      ? { kind: 'delay', ms: world.happens(0.01) ? world.between(100, 6_000) : world.between(2, 10) }
      : undefined;
  }

  #fail(error: unknown): void {
    this.#world.failures.push(`${this.#name}: ${errorText(error)}`);
  }
}
