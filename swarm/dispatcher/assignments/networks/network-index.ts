import { isDeepStrictEqual } from 'node:util';
import type {
  AssignedNetwork,
  NetworkEndpoint,
  NetworkService,
} from '../../../../api/types/swarm/overlay.ts';
import type { NetworkRecord } from '../../../objects/network.ts';
import { hasEncryption } from '../../../objects/network-keys.ts';
import type { Write } from '../../../objects/parts.ts';
import { addTo, deleteFrom } from '../../../planner/state/multi-map.ts';
import {
  endpointsOfAttachment,
  endpointsOfNode,
  endpointsOfTask,
  nodeEndpoint,
  type EndpointSource,
} from './endpoints.ts';
import { networkServices } from './services.ts';

/** What of a network's content may have changed. */
export type Content = 'endpoint' | 'service';

/** Who is told of changes: for one node. */
export interface NetworkWatcher {
  readonly node: string;
  /** The node has something in this network now, or not any more; or the network itself is another. */
  mayNeed(network: string): void;
  /** Of a network that is followed. */
  changed(content: Content, network: string, id: string): void;
}

interface Held {
  readonly endpoints: Map<string, NetworkEndpoint>;
  readonly services: Map<string, NetworkService>;
  /** How many endpoints of it are on each node. */
  readonly nodes: Map<string, number>;
  readonly followers: Set<NetworkWatcher>;
}

/** All networks of the swarm as nodes are told them, made anew where something changes and shared by all sessions. */
export class NetworkIndex {
  readonly #source: EndpointSource;
  readonly #networks = new Map<string, Held>();
  /** Networks by the task, attachment, node or service that is in them. */
  readonly #placesOf = new Map<string, Set<string>>();
  readonly #networksOn = new Map<string, Set<string>>();
  readonly #attachmentsOn = new Map<string, Set<string>>();
  readonly #watchers = new Map<string, Set<NetworkWatcher>>();

  constructor(source: EndpointSource) {
    this.#source = source;
    const { services, tasks, attachments, nodeAddresses } = source.state;
    for (const id of services.keys()) {
      this.#takeService(id);
    }
    for (const id of tasks.keys()) {
      this.touchTask(id);
    }
    for (const id of attachments.keys()) {
      this.#takeAttachment(id);
    }
    for (const node of nodeAddresses.keys()) {
      this.#takeNodeAddresses(node);
    }
  }

  /** Networks that the node has something in. */
  *neededBy(node: string): Iterable<string> {
    for (const network of this.#networksOn.get(node) ?? []) {
      if (this.networkFor(node, network) !== undefined) {
        yield network;
      }
    }
  }

  /** Undefined where the node has nothing in it, or the network is not there. */
  networkFor(node: string, network: string): AssignedNetwork | undefined {
    const { state } = this.#source;
    const record = state.networks.get(network);
    if (record === undefined || this.#networks.get(network)?.nodes.has(node) !== true) {
      return undefined;
    }
    const own = state.nodeAddresses.get(node)?.networks.find((given) => given.network === network);
    return assignedNetwork(record, record.ingress ? (own?.addresses ?? []) : []);
  }

  /** Nodes that have something in the network, where it is encrypted; else none. */
  encryptedNodes(network: string): Iterable<string> {
    const record = this.#source.state.networks.get(network);
    const isEncrypted = record !== undefined && hasEncryption(record);
    return isEncrypted ? (this.#networks.get(network)?.nodes.keys() ?? []) : [];
  }

  endpoints(network: string): Iterable<NetworkEndpoint> {
    return this.#networks.get(network)?.endpoints.values() ?? [];
  }

  endpoint(network: string, id: string): NetworkEndpoint | undefined {
    return this.#networks.get(network)?.endpoints.get(id);
  }

  services(network: string): Iterable<NetworkService> {
    return this.#networks.get(network)?.services.values() ?? [];
  }

  service(network: string, id: string): NetworkService | undefined {
    return this.#networks.get(network)?.services.get(id);
  }

  watch(watcher: NetworkWatcher): void {
    addTo(this.#watchers, watcher.node, watcher);
  }

  unwatch(watcher: NetworkWatcher): void {
    deleteFrom(this.#watchers, watcher.node, watcher);
  }

  follow(network: string, watcher: NetworkWatcher): void {
    this.#held(network).followers.add(watcher);
  }

  unfollow(network: string, watcher: NetworkWatcher): void {
    this.#networks.get(network)?.followers.delete(watcher);
    this.#drop(network);
  }

  /** A part of the cluster's state has changed. */
  hear({ part, id }: Write): void {
    if (part === 'task' || part === 'status') {
      this.touchTask(id);
    } else if (part === 'service' || part === 'serviceRun') {
      this.#takeService(id);
    } else if (part === 'nodeState') {
      this.touchNode(id);
    } else if (part === 'nodeAddresses') {
      this.#takeNodeAddresses(id);
    } else if (part === 'attachment') {
      this.#takeAttachment(id);
    } else if (part === 'network') {
      this.#takeNetwork(id);
    }
  }

  /** What is known of a task may be another. */
  touchTask(id: string): void {
    const task = this.#source.state.tasks.get(id);
    const [known] = this.#placesOf.get(id) ?? [];
    const names = known === undefined ? undefined : this.endpoint(known, id)?.names;
    this.#placeEndpoints(id, task === undefined ? [] : endpointsOfTask(this.#source, task, names));
  }

  /** Where a node is, or whether it is down, may be another. */
  touchNode(node: string): void {
    for (const { id } of this.#source.state.tasksOn(node)) {
      this.touchTask(id);
    }
    this.#attachmentsOn.get(node)?.forEach((id) => this.#takeAttachment(id));
    this.#takeNodeAddresses(node);
  }

  #takeAttachment(id: string): void {
    const record = this.#source.state.attachments.get(id);
    if (record !== undefined) {
      addTo(this.#attachmentsOn, record.node, id);
    } else {
      const [network = ''] = this.#placesOf.get(id) ?? [];
      deleteFrom(this.#attachmentsOn, this.endpoint(network, id)?.node ?? '', id);
    }
    this.#placeEndpoints(id, record === undefined ? [] : endpointsOfAttachment(this.#source, record));
  }

  #takeNodeAddresses(node: string): void {
    this.#placeEndpoints(nodeEndpoint(node), endpointsOfNode(this.#source, node));
    // They are a part of the ingress network as it is told: its tasks may have been there before them.
    const watchers = this.#watchers.get(node);
    if (watchers !== undefined) {
      for (const network of this.#networksOn.get(node) ?? []) {
        watchers.forEach((watcher) => watcher.mayNeed(network));
      }
    }
  }

  #takeNetwork(id: string): void {
    const { state } = this.#source;
    const services = new Set([
      ...[...state.usersOf(id)].map((service) => service.id),
      ...(this.#networks.get(id)?.services.keys() ?? []),
    ]);
    services.forEach((service) => this.#takeService(service));
    for (const node of this.#networks.get(id)?.nodes.keys() ?? []) {
      this.#watchers.get(node)?.forEach((watcher) => watcher.mayNeed(id));
    }
  }

  #takeService(id: string): void {
    const now = networkServices(this.#source.state, id);
    this.#place(id, now, {
      put: (service) => {
        const { services } = this.#held(service.network);
        const isNew = !isDeepStrictEqual(services.get(id), service);
        services.set(id, service);
        return isNew;
      },
      remove: (network) => this.#networks.get(network)?.services.delete(id),
      content: 'service',
    });
  }

  #placeEndpoints(id: string, now: readonly NetworkEndpoint[]): void {
    this.#place(id, now, {
      put: (endpoint) => {
        const { endpoints } = this.#held(endpoint.network);
        const before = endpoints.get(id);
        if (isDeepStrictEqual(before, endpoint)) {
          return false;
        }
        endpoints.set(id, endpoint);
        this.#count(endpoint, 1);
        this.#count(before, -1);
        return true;
      },
      remove: (network) => {
        const endpoints = this.#networks.get(network)?.endpoints;
        const before = endpoints?.get(id);
        endpoints?.delete(id);
        this.#count(before, -1);
      },
      content: 'endpoint',
    });
  }

  /** One that has its places in networks has these from now on. */
  #place<T extends { network: string }>(
    id: string,
    now: readonly T[],
    {
      put,
      remove,
      content,
    }: { put: (item: T) => boolean; remove: (network: string) => void; content: Content },
  ): void {
    const left = new Set(this.#placesOf.get(id) ?? []);
    for (const item of now) {
      const { network } = item;
      left.delete(network);
      addTo(this.#placesOf, id, network);
      if (put(item)) {
        this.#tell(content, network, id);
      }
    }
    for (const network of left) {
      deleteFrom(this.#placesOf, id, network);
      remove(network);
      this.#tell(content, network, id);
      this.#drop(network);
    }
  }

  #tell(content: Content, network: string, id: string): void {
    this.#networks.get(network)?.followers.forEach((watcher) => watcher.changed(content, network, id));
  }

  #count(endpoint: NetworkEndpoint | undefined, by: 1 | -1): void {
    if (endpoint === undefined) {
      return;
    }
    const { network, node } = endpoint;
    const { nodes } = this.#held(network);
    const count = (nodes.get(node) ?? 0) + by;
    if (count > 0) {
      nodes.set(node, count);
    } else {
      nodes.delete(node);
    }
    if (count === 0 || (count === 1 && by === 1)) {
      (count === 0 ? deleteFrom : addTo)(this.#networksOn, node, network);
      this.#watchers.get(node)?.forEach((watcher) => watcher.mayNeed(network));
    }
  }

  #held(network: string): Held {
    const held = this.#networks.get(network) ?? {
      endpoints: new Map(),
      services: new Map(),
      nodes: new Map(),
      followers: new Set(),
    };
    this.#networks.set(network, held);
    return held;
  }

  #drop(network: string): void {
    const held = this.#networks.get(network);
    if (held !== undefined && held.endpoints.size + held.services.size + held.followers.size === 0) {
      this.#networks.delete(network);
    }
  }
}

/** Undefined for a network that every node has by itself. */
function assignedNetwork(record: NetworkRecord, nodeAddresses: string[]): AssignedNetwork | undefined {
  const { id, name, created, driver, labels, ingress, attachable, overlay } = record;
  if (overlay === undefined) {
    return undefined;
  }
  const { options, internal, ipv6, ipam, vni } = overlay;
  const shown = { id, name, created, driver, labels, ingress, attachable };
  return { ...shown, options, internal, ipv6, ipam, vni, nodeAddresses };
}
