import type { EndpointSettings } from '../../api/types/endpoint.ts';
import type { MetaTable, NetworkTable } from '../../storage/database/rows.ts';
import type { Clock } from '../base/clock.ts';
import { conflict, errorText, invalidArgument, notFound } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { BUILT_IN_NETWORKS, isOfSwarm, newNetwork } from './network.ts';
import type { BuiltInName, Network, NetworkMember } from './network.ts';
import { poolsOf, readSpec } from './network-spec.ts';
import type { NetworkOptions } from './options.ts';

const DRIVERS = { bridge: 'bridge', host: 'host', none: 'null' } as const satisfies Record<
  BuiltInName,
  string
>;

const SUBNET_KEYS = { ipv4: 'network.bridge.subnet', ipv6: 'network.bridge.subnet6' } as const;

/**
 * All networks in memory, with their endpoints. Ids of the built-in ones are made at the first start of a data root and
 * kept in its meta table; those of users are rows.
 */
export class NetworkIndex {
  readonly builtIn: Readonly<Record<BuiltInName, Network>>;
  readonly #meta: MetaTable;
  readonly #byId = new Map<string, Network>();
  /** One of this host, or those of the swarm, the newest first: tasks may still be leaving an older one. */
  readonly #byName = new Map<string, Network[]>();

  constructor(deps: {
    meta: MetaTable;
    table: Pick<NetworkTable, 'all'>;
    options: Pick<NetworkOptions, 'hasDefaultNetwork'>;
    clock: Clock;
    log: Logger;
  }) {
    this.#meta = deps.meta;
    const load = (name: BuiltInName): Network => this.#builtIn(name, deps.clock);
    this.builtIn = { bridge: load('bridge'), host: load('host'), none: load('none') };
    for (const name of BUILT_IN_NETWORKS) {
      if (name !== 'bridge' || deps.options.hasDefaultNetwork) {
        this.add(this.builtIn[name]);
      }
    }
    for (const row of deps.table.all()) {
      try {
        const spec = readSpec(row.spec);
        this.add(newNetwork({ ...row, spec, isBuiltIn: false, ...poolsOf(spec, row.driver) }));
      } catch (error) {
        // One bad row does not stop the start.
        deps.log.error(
          { network: row.name, err: errorText(error) },
          'a network could not be read and is left alone',
        );
      }
    }
  }

  /** Built-in first, then in the order of creation. */
  all(): Network[] {
    return [...this.#byId.values()];
  }

  /** Throws conflict for a name that is taken; those of the swarm take it from each other only. */
  add(network: Network): void {
    const { id, name } = network;
    const named = this.#byName.get(name) ?? [];
    if (named.length > 0 && ![network, ...named].every(isOfSwarm)) {
      throw conflict(`network with name ${name} already exists`);
    }
    this.#byId.set(id, network);
    this.#byName.set(name, [network, ...named].toSorted(newestFirst));
  }

  delete(network: Network): void {
    const { id, name } = network;
    this.#byId.delete(id);
    const named = (this.#byName.get(name) ?? []).filter((each) => each !== network);
    if (named.length > 0) {
      this.#byName.set(name, named);
    } else {
      this.#byName.delete(name);
    }
    // A container that still has it among its networks is not to find names of it.
    network.swarmNames = undefined;
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** One of this host alone has the name. */
  hasOfHost(name: string): boolean {
    const named = this.#named(name);
    return named !== undefined && !isOfSwarm(named);
  }

  /** By id, name or unique id prefix, in this order. */
  lookUp(ref: string): Network | undefined {
    return this.#byId.get(ref) ?? this.#named(ref) ?? this.#byPrefix(ref);
  }

  /**
   * The network that an endpoint is in: by its id, since another network may have the name by now. Endpoints stored
   * without an id are of the network of that name.
   */
  ofEndpoint(name: string, { NetworkID: id }: EndpointSettings): Network | undefined {
    return id ? this.#byId.get(id) : this.#named(name);
  }

  /** As `lookUp`. Throws not_found. */
  find(ref: string): Network {
    const found = this.lookUp(ref);
    if (found === undefined) {
      throw notFound(`network ${ref} not found`);
    }
    return found;
  }

  join(network: Network, member: NetworkMember): void {
    this.leave(network, member.containerId);
    network.members.set(member.containerId, member);
    for (const name of namesOf(member)) {
      const holders = network.names.get(name) ?? new Set();
      network.names.set(name, holders.add(member));
    }
  }

  /** Idempotent. */
  leave(network: Network, containerId: string): void {
    const member = network.members.get(containerId);
    if (member === undefined) {
      return;
    }
    network.members.delete(containerId);
    for (const name of namesOf(member)) {
      const holders = network.names.get(name);
      holders?.delete(member);
      if (holders?.size === 0) {
        network.names.delete(name);
      }
    }
  }

  /** The default bridge's subnet of earlier starts, so that it is stable; undefined at the first. */
  storedSubnet(family: 'ipv4' | 'ipv6'): string | undefined {
    return this.#meta.get(SUBNET_KEYS[family]);
  }

  storeSubnet(family: 'ipv4' | 'ipv6', subnet: string): void {
    if (this.storedSubnet(family) !== subnet) {
      this.#meta.set(SUBNET_KEYS[family], subnet);
    }
  }

  #named(name: string): Network | undefined {
    return this.#byName.get(name)?.[0];
  }

  #byPrefix(ref: string): Network | undefined {
    const [found, ...more] = ref === '' ? [] : this.all().filter(({ id }) => id.startsWith(ref));
    if (more.length > 0) {
      throw invalidArgument(
        `network ${ref} is ambiguous (${more.length + 1} matches found based on ID prefix)`,
      );
    }
    return found;
  }

  #builtIn(name: BuiltInName, clock: Clock): Network {
    return newNetwork({
      name,
      id: this.#stored(`network.${name}.id`, newId),
      createdNano: BigInt(this.#stored(`network.${name}.created`, () => String(clock.nowNano()))),
      driver: DRIVERS[name],
      isBuiltIn: true,
      spec: {
        internal: false,
        attachable: false,
        enableIPv6: false,
        ipam: { driver: 'default', options: null, config: [] },
        options: {},
        labels: {},
      },
    });
  }

  #stored(key: string, make: () => string): string {
    const stored = this.#meta.get(key);
    if (stored !== undefined) {
      return stored;
    }
    const made = make();
    this.#meta.set(key, made);
    return made;
  }
}

function newestFirst(a: Network, b: Network): number {
  return Number(b.createdNano - a.createdNano);
}

function namesOf({ endpoint }: NetworkMember): string[] {
  return (endpoint.DNSNames ?? []).map((name) => name.toLowerCase());
}
