import { silentLogger } from '../../../daemon/base/logger.ts';
import { Cluster } from '../../../swarm/cluster/cluster.ts';
import { keyOf } from '../../../swarm/objects/keys.ts';
import type { Write } from '../../../swarm/objects/parts.ts';
import { ScriptedFaults } from '../../../swarm/store/memory/faults.ts';
import { MemoryCluster } from '../../../swarm/store/memory/memory-cluster.ts';
import { MemoryStore } from '../../../swarm/store/memory/memory-store.ts';
import { startLeading, type LeadingDeps } from '../../../swarm/leader/start-leading.ts';
import type { Leading, Leadership } from '../../../swarm/leader/ports.ts';
import type { Task } from '../../../swarm/planner/state/entries.ts';
import { ManualClock } from '../fakes/manual-clock.ts';
import { clusterWrite } from './builders.ts';
import { SeededRandom } from '../seeded-random.ts';

/** What all managers of a test share: a clock moved by hand, and a store in memory. */
export class SwarmRig {
  readonly clock = new ManualClock();
  readonly store = new MemoryCluster(this.clock);
  /** Revisions of transactions that put something, and how many keys each had. */
  readonly transactions: { revision: number; keys: string[] }[] = [];

  constructor() {
    const apply = this.store.apply.bind(this.store);
    this.store.apply = (writes) => {
      const revision = apply(writes);
      this.transactions.push({ revision, keys: writes.map(({ key }) => key) });
      return revision;
    };
  }

  async manager(id = 'm1', more: Partial<LeadingDeps> = {}): Promise<ManagerRig> {
    const faults = new ScriptedFaults();
    const store = new MemoryStore({ clock: this.clock, cluster: this.store, faults: faults.next });
    const cluster = await Cluster.open({ clock: this.clock, logger: silentLogger, store });
    const deps: LeadingDeps = {
      clock: this.clock,
      random: new SeededRandom(1),
      logger: silentLogger,
      cluster,
      nodeId: id,
      addr: `${id}:2377`,
      loops: [],
      ...more,
    };
    return new ManagerRig(this, faults, deps);
  }
}

/** One manager of a test: leads when `lead` says so. */
export class ManagerRig {
  readonly rig: SwarmRig;
  readonly faults: ScriptedFaults;
  readonly deps: LeadingDeps;
  leadership: Leadership | undefined;

  constructor(rig: SwarmRig, faults: ScriptedFaults, deps: LeadingDeps) {
    this.rig = rig;
    this.faults = faults;
    this.deps = deps;
  }

  get cluster(): Cluster {
    return this.deps.cluster;
  }

  /** Throws while another manager leads. */
  get leading(): Leading {
    const leading = this.leadership?.leading;
    if (leading === undefined) {
      throw new Error(`${this.deps.nodeId} does not lead`);
    }
    return leading;
  }

  async lead(more: Partial<LeadingDeps> = {}): Promise<this> {
    this.leadership = startLeading({ ...this.deps, ...more });
    await this.rig.clock.advance(1);
    return this;
  }

  /** As a user's call on this manager writes. */
  async write(...writes: Write[]): Promise<void> {
    for (let from = 0; from < writes.length; from += 100) {
      await this.cluster.commit({ conditions: [], parts: writes.slice(from, from + 100) });
    }
    await this.rig.clock.advance(0);
  }

  /** The swarm's own record and what is given. */
  async begin(...writes: Write[][]): Promise<this> {
    await this.write(clusterWrite());
    await this.write(...writes.flat());
    return this;
  }

  tasks(service: string): Task[] {
    return [...this.cluster.state.tasksOf(service)].toSorted(
      (a, b) => (a.record.slot ?? 0) - (b.record.slot ?? 0) || a.record.created - b.record.created,
    );
  }

  /** Times that a part was put or deleted. */
  writesOf(part: Parameters<typeof keyOf>[0], id: string): number {
    const key = keyOf(part, id);
    return this.rig.transactions.filter(({ keys }) => keys.includes(key)).length;
  }
}
