import type { NetworkKeys } from '../../../api/types/swarm/overlay.ts';
import { NetworkIndex } from '../../../swarm/dispatcher/assignments/networks/network-index.ts';
import { NetworkSet } from '../../../swarm/dispatcher/assignments/networks/network-set.ts';
import { put, type Write } from '../../../swarm/objects/parts.ts';
import type { TaskStatus } from '../../../swarm/objects/task.ts';
import { ClusterState } from '../../../swarm/planner/state/cluster-state.ts';
import type { NetworksChange } from '../../../swarm/protocol/networks.ts';

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

  constructor(
    node: string,
    index: NetworkIndex,
    keysFor?: (node: string, others: Iterable<string>) => NetworkKeys | undefined,
  ) {
    this.set = new NetworkSet({
      node,
      index,
      dataPath: () => ({ addr: '10.0.0.7', port: 4789 }),
      keysFor: (nodes) => keysFor?.(node, nodes),
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

/** What a node knows of networks, put together from all that it was told. */
export class KnownNetworks {
  readonly #networks = new Map<string, unknown>();
  readonly #endpoints = new Map<string, unknown>();
  readonly #services = new Map<string, unknown>();

  /** Each sorted. */
  get all(): { networks: unknown[]; endpoints: unknown[]; services: unknown[] } {
    return {
      networks: sorted(this.#networks),
      endpoints: sorted(this.#endpoints),
      services: sorted(this.#services),
    };
  }

  get ids(): string {
    return [this.#networks, this.#services, this.#endpoints]
      .map((map) => [...map.keys()].toSorted().join(' '))
      .join(' | ');
  }

  clear(): void {
    [this.#networks, this.#endpoints, this.#services].forEach((map) => map.clear());
  }

  /** One that is full has to be cleared for, once for all of its parts. */
  add(change: NetworksChange): void {
    change.networks.forEach((network) => this.#networks.set(network.id, network));
    change.services.forEach((service) => this.#services.set(`${service.network}/${service.id}`, service));
    change.endpoints.forEach((each) => this.#endpoints.set(`${each.network}/${each.id}`, each));
    for (const { network, id } of change.removedEndpoints) {
      this.#endpoints.delete(`${network}/${id}`);
    }
    for (const { network, id } of change.removedServices) {
      this.#services.delete(`${network}/${id}`);
    }
    for (const gone of change.removedNetworks) {
      this.#networks.delete(gone);
      for (const map of [this.#endpoints, this.#services]) {
        [...map.keys()].filter((key) => key.startsWith(`${gone}/`)).forEach((key) => map.delete(key));
      }
    }
  }
}

function sorted(map: ReadonlyMap<string, unknown>): unknown[] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
}
