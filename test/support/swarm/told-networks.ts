import { NetworkIndex } from '../../../swarm/dispatcher/assignments/networks/network-index.ts';
import { NetworkSet } from '../../../swarm/dispatcher/assignments/networks/network-set.ts';
import { put, type Write } from '../../../swarm/objects/parts.ts';
import type { TaskStatus } from '../../../swarm/objects/task.ts';
import { ClusterState } from '../../../swarm/planner/state/cluster-state.ts';
import type { NetworksChange } from '../../../swarm/protocol/networks.ts';
import { KnownNetworks } from './known-networks.ts';

/** The store as a leader sees it, and the networks of it that nodes are told. */
export class ToldCluster {
  readonly state = new ClusterState();
  readonly down = new Set<string>();
  readonly statuses = new Map<string, TaskStatus>();
  readonly index: NetworkIndex;

  constructor(...writes: Write[][]) {
    writes.flat().forEach((write) => this.state.apply(write));
    this.index = this.freshIndex();
  }

  /** As the next leader makes it. */
  freshIndex(): NetworkIndex {
    return new NetworkIndex({
      state: this.state,
      statusOf: (task) => this.statuses.get(task),
      isKnownDown: (node) => this.down.has(node),
    });
  }

  /** One transaction: everything is there before the first part is heard of. */
  write(...writes: Write[]): void {
    writes.forEach((write) => this.state.apply(write));
    writes.forEach((write) => this.index.hear(write));
  }

  node(id: string, index = this.index): ToldNode {
    return new ToldNode(id, index);
  }
}

/** What a node knows, put together from all that it was told. */
export class ToldNode {
  /** Whether something is to be told since the last changes. */
  isTouched = false;
  readonly messages: NetworksChange[] = [];
  readonly set: NetworkSet;
  readonly #known = new KnownNetworks();

  constructor(node: string, index: NetworkIndex) {
    this.set = new NetworkSet({
      node,
      index,
      dataPath: () => ({ addr: '10.0.0.7', port: 4789 }),
      touched: () => {
        this.isTouched = true;
      },
    });
    this.set.full().forEach((message) => this.#take(message));
  }

  get known(): KnownNetworks['all'] {
    return this.#known.all;
  }

  get ids(): string {
    return this.#known.ids;
  }

  /** As one turn of its session. */
  next(): { before: NetworksChange[]; after: NetworksChange[] } {
    const told = this.set.changes();
    [...told.before, ...told.after].forEach((message) => this.#take(message));
    this.isTouched = false;
    return told;
  }

  #take(change: NetworksChange): void {
    this.messages.push(change);
    if (change.full && this.messages.length === 1) {
      this.#known.clear();
    }
    this.#known.add(change);
  }
}

/** A node's state with its own address, `down` where it says so. */
export function nodeAt(id: string, addr: string, more: { dataAddr?: string; down?: boolean } = {}): Write {
  return put('nodeState', {
    id,
    role: 'worker',
    state: more.down ? 'down' : 'ready',
    message: '',
    addr,
    ...(more.dataAddr === undefined ? {} : { dataAddr: more.dataAddr }),
    since: 0,
  });
}
