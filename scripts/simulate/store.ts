import { Cluster } from '../../swarm/cluster/cluster.ts';
import { silentLogger } from '../../daemon/base/logger.ts';
import type { Use } from '../../swarm/control/services/data-use.ts';
import { decodePart } from '../../swarm/objects/codec.ts';
import { keyOf, partOf } from '../../swarm/objects/keys.ts';
import { put, type PartName, type Parts, type Write } from '../../swarm/objects/parts.ts';
import { LEADER_KEY } from '../../swarm/objects/values.ts';
import { MemoryCluster } from '../../swarm/store/memory/memory-cluster.ts';
import { MemoryStore } from '../../swarm/store/memory/memory-store.ts';
import type { HistoryWrite } from '../../swarm/store/memory/history.ts';
import type { EventQueue } from './event-queue.ts';
import { VirtualClock } from './virtual-clock.ts';

const TASK_KEY = /^(?:task|status)\/(.+)$/;

/** The store that the managers of a simulation share, with a disk that may be full; and as users see and change it. */
export class SimulatedStore {
  isFull = false;
  /** But for those of elections. */
  transactions = 0;
  /** How often each task and its status were put. */
  readonly putsOfTask = new Map<string, number>();
  readonly memory: MemoryCluster;
  #users: Cluster | undefined;

  constructor(queue: EventQueue) {
    this.memory = new MemoryCluster(new VirtualClock(queue, 0));
    const apply = this.memory.apply.bind(this.memory);
    this.memory.apply = (writes) => {
      this.#count(writes);
      return apply(writes);
    };
  }

  async open(queue: EventQueue): Promise<void> {
    const clock = new VirtualClock(queue, 0);
    const store = new MemoryStore({ clock, cluster: this.memory });
    this.#users = await Cluster.open({ clock, logger: silentLogger, store });
  }

  /** What is stored, as all managers know it soon. */
  get cluster(): Cluster {
    if (this.#users === undefined) {
      throw new Error('the store was not opened');
    }
    return this.#users;
  }

  /** A user's transaction, on the condition of what the user has seen. False where the disk is full. */
  write(parts: readonly Write[], use: Use = { conditions: [], values: [] }): boolean {
    if (this.isFull) {
      return false;
    }
    const conditions = parts.map(({ part, id }) => ({
      key: keyOf(part, id),
      revision: this.cluster.revisionOf(part, id),
    }));
    const { values } = use;
    const written = this.cluster.commit({ parts, conditions: [...conditions, ...use.conditions], values });
    // A user who came too late gives up.
    void written.catch(() => undefined);
    return true;
  }

  get<P extends PartName>(part: P, id: string): Parts[P] | undefined {
    return this.cluster.part(part, id);
  }

  all<P extends PartName>(part: P): Parts[P][] {
    return [...this.cluster.parts()].flatMap(({ write }) =>
      // A value has the type of its part.
      write.part === part && write.value !== null ? [write.value as Parts[P]] : [],
    );
  }

  /** Everything, as a manager reads it that knew nothing. */
  *read(): Iterable<Write> {
    const { history } = this.memory;
    for (const { key, value } of history.at('', history.revision)) {
      const named = partOf(key);
      if (named !== undefined) {
        yield put(named.part, decodePart(named.part, named.id, value));
      }
    }
  }

  #count(writes: readonly HistoryWrite[]): void {
    if (writes.every(({ key }) => key === LEADER_KEY)) {
      return;
    }
    this.transactions += 1;
    for (const { kind, key } of writes) {
      const task = kind === 'put' ? TASK_KEY.exec(key)?.[1] : undefined;
      if (task !== undefined) {
        this.putsOfTask.set(task, (this.putsOfTask.get(task) ?? 0) + 1);
      }
    }
  }
}
