import type { AssignedNetwork, NetworkKeys, NetworksChange } from '../../../../api/types/swarm/overlay.ts';
import { addTo } from '../../../planner/state/multi-map.ts';
import type { Content, NetworkIndex, NetworkWatcher } from './network-index.ts';
import { networksInParts } from './parts.ts';

interface Deps {
  node: string;
  index: NetworkIndex;
  dataPath(): NetworksChange['dataPath'];
  /** What the node needs to talk to these in encrypted networks; undefined as long as there are no keys. */
  keysFor(nodes: ReadonlySet<string>): NetworkKeys | undefined;
  /** There may be changes to tell. */
  touched(): void;
}

/** What a node was told of networks: each message says what is different from that. */
export class NetworkSet implements NetworkWatcher, Disposable {
  readonly node: string;
  readonly #deps: Deps;
  /** Networks that it knows, with its own addresses in each. */
  readonly #told = new Map<string, string>();
  /** Networks that it may need now, or not any more. */
  readonly #questioned = new Set<string>();
  /** As JSON. */
  #toldKeys: string | undefined;
  readonly #changed: Record<Content, Map<string, Set<string>>> = { endpoint: new Map(), service: new Map() };

  constructor(deps: Deps) {
    this.node = deps.node;
    this.#deps = deps;
  }

  /** Everything. Changes are noted from then on. */
  full(): NetworksChange[] {
    const { index } = this.#deps;
    this[Symbol.dispose]();
    index.watch(this);
    const change = this.#nothing(true);
    for (const network of index.neededBy(this.node)) {
      this.#add(network, change);
    }
    this.#tellKeys(change);
    return networksInParts(change);
  }

  /** What the node does not know yet: before its tasks, and after them what these needed until now. */
  changes(): { before: NetworksChange[]; after: NetworksChange[] } {
    if (this.#told.size === 0 && this.#questioned.size === 0) {
      // A node in no network is asked at each of its tasks, and what changes elsewhere is nothing to it.
      this.#changed.endpoint.clear();
      this.#changed.service.clear();
      this.#toldKeys = undefined;
      return { before: [], after: [] };
    }
    const [before, after] = [this.#nothing(false), this.#nothing(false)];
    const added = new Set<string>();
    for (const network of this.#questioned) {
      const known = this.#told.get(network);
      const needed = this.#deps.index.networkFor(this.node, network);
      if (needed === undefined) {
        this.#withdraw(network, after);
      } else if (known === undefined) {
        added.add(network);
        this.#add(network, before);
      } else if (known !== addressesOf(needed)) {
        this.#told.set(network, addressesOf(needed));
        before.networks.push(needed);
      }
    }
    this.#questioned.clear();
    this.#tellChanged(before, added);
    this.#tellKeys(before);
    return { before: partsOf(before), after: partsOf(after) };
  }

  mayNeed(network: string): void {
    this.#questioned.add(network);
    this.#deps.touched();
  }

  changed(content: Content, network: string, id: string): void {
    addTo(this.#changed[content], network, id);
    this.#deps.touched();
  }

  /** Nothing is noted any more. */
  [Symbol.dispose](): void {
    const { index } = this.#deps;
    index.unwatch(this);
    for (const network of this.#told.keys()) {
      index.unfollow(network, this);
    }
    this.#told.clear();
    this.#toldKeys = undefined;
    this.#questioned.clear();
    this.#changed.endpoint.clear();
    this.#changed.service.clear();
  }

  #add(network: string, change: NetworksChange): void {
    const { index } = this.#deps;
    const needed = index.networkFor(this.node, network);
    if (needed !== undefined) {
      this.#told.set(network, addressesOf(needed));
      index.follow(network, this);
      change.networks.push(needed);
      // One at a time: as arguments, thousands would be more than a call takes.
      for (const endpoint of index.endpoints(network)) {
        change.endpoints.push(endpoint);
      }
      for (const service of index.services(network)) {
        change.services.push(service);
      }
    }
  }

  #withdraw(network: string, change: NetworksChange): void {
    if (this.#told.delete(network)) {
      this.#deps.index.unfollow(network, this);
      change.removedNetworks.push(network);
    }
  }

  /** A node without encrypted networks is told none. */
  #tellKeys(change: NetworksChange): void {
    const { index } = this.#deps;
    const nodes = new Set([...this.#told.keys()].flatMap((network) => [...index.encryptedNodes(network)]));
    const keys = nodes.size === 0 ? undefined : this.#deps.keysFor(nodes);
    const text = JSON.stringify(keys);
    if (keys !== undefined && text !== this.#toldKeys) {
      change.keys = keys;
    }
    this.#toldKeys = text;
  }

  #tellChanged(change: NetworksChange, added: ReadonlySet<string>): void {
    const { index } = this.#deps;
    const isKnown = (network: string): boolean => this.#told.has(network) && !added.has(network);
    for (const [network, id] of entriesOf(this.#changed.endpoint, isKnown)) {
      const endpoint = index.endpoint(network, id);
      if (endpoint === undefined) {
        change.removedEndpoints.push({ network, id });
      } else {
        change.endpoints.push(endpoint);
      }
    }
    for (const [network, id] of entriesOf(this.#changed.service, isKnown)) {
      const service = index.service(network, id);
      if (service === undefined) {
        change.removedServices.push({ network, id });
      } else {
        change.services.push(service);
      }
    }
    this.#changed.endpoint.clear();
    this.#changed.service.clear();
  }

  #nothing(full: boolean): NetworksChange {
    return {
      full,
      dataPath: this.#deps.dataPath(),
      networks: [],
      removedNetworks: [],
      endpoints: [],
      removedEndpoints: [],
      services: [],
      removedServices: [],
    };
  }
}

function addressesOf({ nodeAddresses }: AssignedNetwork): string {
  return nodeAddresses.join(' ');
}

/** Empty where it says nothing. */
function partsOf(change: NetworksChange): NetworksChange[] {
  const isNothing =
    change.keys === undefined &&
    Object.values(change).every((value) => !Array.isArray(value) || value.length === 0);
  return isNothing ? [] : networksInParts(change);
}

function* entriesOf(
  changed: ReadonlyMap<string, ReadonlySet<string>>,
  isMeant: (network: string) => boolean,
): Iterable<[network: string, id: string]> {
  for (const [network, ids] of changed) {
    if (isMeant(network)) {
      for (const id of ids) {
        yield [network, id];
      }
    }
  }
}
