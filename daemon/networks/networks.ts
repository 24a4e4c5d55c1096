import type { Filters } from '../../api/types/requests.ts';
import type {
  NetworkCreateRequest,
  NetworkCreateResponse,
  NetworkInspect,
  NetworkPruneReport,
} from '../../api/types/system.ts';
import type { Database } from '../../storage/database/rows.ts';
import type { Clock } from '../base/clock.ts';
import { EngineError, conflict, notFound } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { newId } from '../base/ids.ts';
import { freeSubnet, freeSubnet6 } from '../base/addresses/free-subnet.ts';
import { formatAnySubnet, isSubnet4, parseAnyCidr } from '../base/addresses/ip.ts';
import { configOf, refuseOverlap } from '../base/addresses/subnet-config.ts';
import type { Logger } from '../base/logger.ts';
import { persistently } from '../base/concurrency/retry.ts';
import { Rollback } from '../base/rollback.ts';
import type { EventDraft, Journal } from '../events/journal-types.ts';
import { CONFIG_DRIVER, dependents, withConfigFrom } from './config-networks.ts';
import { defaultBridgeOptions } from './drivers/default-bridge.ts';
import type { NetworkDriver } from './drivers/driver.ts';
import { isInUse, isOfSwarm, newNetwork } from './network.ts';
import type { Network, NetworkSpec } from './network.ts';
import { matchesFilters } from './network-filters.ts';
import { checkNetworkName, networkSpec, poolsOf } from './network-spec.ts';
import { networkView } from './network-view.ts';
import type { NetworkOptions } from './options.ts';
import type { NetworkKernel } from './ports.ts';
import { pruneTest } from './prune-filters.ts';
import type { NetworkIndex } from './network-index.ts';
import { subnetStatuses } from './ipam/pool-status.ts';
import { supplies6, usedSubnets } from './ipam/used-subnets.ts';

export interface NetworksDeps {
  journal: Journal;
  table: Database['networks'];
  registry: NetworkIndex;
  kernel: Pick<NetworkKernel, 'hostSubnets'>;
  drivers: ReadonlyMap<string, NetworkDriver>;
  options: NetworkOptions;
  /** The name of a container at this moment, without its slash. */
  containerName: (containerId: string) => string | undefined;
  /** Whether containers, running or not, are to be in this network. */
  isWanted: (networkName: string) => boolean;
  clock: Clock;
  log: Logger;
}

/**
 * The networks as clients see and make them (NetworkPort of api/types/ports.ts).
 *
 * INVARIANTS
 * - A row is written after its network is made on the host, and deleted before it is removed there: after a crash in
 *   between the next daemon finds what has no row by its name, and removes it.
 * - Names and subnets are taken in memory before anything is awaited.
 */
export class Networks {
  readonly #deps: NetworksDeps;

  constructor(deps: NetworksDeps) {
    this.#deps = deps;
  }

  /** With the containers in them, which the API's edge only gives to clients older than 1.28. */
  async list(filters: Filters): Promise<NetworkInspect[]> {
    return this.#deps.registry
      .all()
      .filter((network) => matchesFilters(this.#filtered(network), filters))
      .map((network) => this.#view(network));
  }

  /**
   * A network of this host alone. From memory. By id, name or unique id prefix, in this order; undefined where there is
   * none.
   */
  lookUp(ref: string): { name: string; driver: string } | undefined {
    const network = this.#deps.registry.lookUp(ref);
    return network === undefined || this.#scope(network) !== 'local'
      ? undefined
      : { name: network.name, driver: network.driver };
  }

  /** From memory: all networks that this host has, those of the swarm that it was told of among them. */
  known(): { id: string; name: string; driver: string; scope: 'local' | 'swarm' }[] {
    return this.#deps.registry.all().map((network) => ({
      id: network.id,
      name: network.name,
      driver: network.driver,
      scope: this.#scope(network),
    }));
  }

  /** From memory: of networks of this host alone, `ADDRESS/LENGTH`. */
  ownSubnets(): string[] {
    return this.#deps.registry
      .all()
      .filter((network) => this.#scope(network) === 'local')
      .flatMap(({ pool, pool6 }) => [...(pool ? [pool.subnet] : []), ...(pool6 ? [pool6.subnet] : [])])
      .map(formatAnySubnet);
  }

  /** From memory, with Status of what this host gives addresses of; undefined where no network has this id. */
  viewOf(id: string): NetworkInspect | undefined {
    const network = this.#deps.registry.lookUp(id);
    if (network?.id !== id) {
      return undefined;
    }
    const isOwn = this.#scope(network) === 'local';
    return { ...this.#view(network), ...(isOwn && { Status: { IPAM: ipamStatus(network) } }) };
  }

  /** By id, name or unique id prefix, in this order. */
  async inspect(ref: string, options: { scope?: string } = {}): Promise<NetworkInspect> {
    const network = this.#deps.registry.find(ref);
    if (options.scope && options.scope !== this.#scope(network)) {
      throw notFound(`network ${ref} not found`);
    }
    return this.#view(network);
  }

  async create(request: NetworkCreateRequest): Promise<NetworkCreateResponse> {
    const { registry, journal, table, clock, log } = this.#deps;
    const name = checkNetworkName(request.Name ?? '');
    const asked = networkSpec(withConfigFrom(request, (ref) => registry.lookUp(ref)));
    const driver = asked.configOnly === true ? undefined : this.#driver(request.Driver || 'bridge');
    if (registry.has(name)) {
      throw conflict(`network with name ${name} already exists`);
    }
    const spec =
      driver === undefined
        ? asked
        : driver.survey(this.#withSubnets(driver.accept(this.#withDefaults(asked, driver), registry.all())));
    const id = newId();
    const createdNano = clock.nowNano();
    const network = newNetwork({
      id,
      name,
      driver: driver?.name ?? CONFIG_DRIVER,
      createdNano,
      isBuiltIn: false,
      spec,
      ...poolsOf(spec, driver?.name ?? CONFIG_DRIVER),
    });
    await using rollback = new Rollback(log, { network: name });
    registry.add(network);
    rollback.defer('forget', () => registry.delete(network));

    await driver?.create(network);
    rollback.defer('unmake', () => driver?.remove(network));
    failpoint('network.create.row');
    journal.commit(
      (emit) => {
        table.insert({ id, name, driver: network.driver, createdNano, spec });
        emit(networkEvent(network, 'create'));
      },
      { durable: true },
    );
    rollback.commit();
    return { Id: id, Warning: '' };
  }

  async remove(ref: string): Promise<void> {
    const network = this.#deps.registry.find(ref);
    if (network.isBuiltIn) {
      throw new EngineError('forbidden', `${network.name} is a pre-defined network and cannot be removed`);
    }
    if (isOfSwarm(network)) {
      throw new EngineError('forbidden', `network ${network.name} is of the swarm: its managers remove it`);
    }
    if (isInUse(network)) {
      throw new EngineError(
        'forbidden',
        `error while removing network: network ${network.name} id ${network.id} has active endpoints`,
      );
    }
    if (dependents(network, this.#deps.registry.all()).length > 0) {
      throw new EngineError('forbidden', `configuration network ${JSON.stringify(network.name)} is in use`);
    }
    await this.#remove(network);
  }

  /** Removes the user-defined networks of this host that no container is in or is to be in. */
  async prune(filters: Filters): Promise<NetworkPruneReport> {
    const { registry, isWanted, clock } = this.#deps;
    const passes = pruneTest(filters, clock.nowNano());
    const deleted: string[] = [];
    for (const network of registry.all()) {
      const isUseless = this.#isDangling(network) && !isWanted(network.name);
      if (isUseless && network.spec.configOnly !== true && passes(this.#view(network))) {
        await this.#remove(network);
        deleted.push(network.name);
      }
    }
    const attributes = { reclaimed: '0' };
    this.#deps.journal.note([{ type: 'network', action: 'prune', actorId: '', attributes }]);
    return { NetworksDeleted: deleted.length === 0 ? null : deleted };
  }

  async #remove(network: Network): Promise<void> {
    const { registry, journal, table, clock, log } = this.#deps;
    failpoint('network.remove.row');
    journal.commit(
      (emit) => {
        table.remove(network.id);
        emit(networkEvent(network, 'destroy'));
      },
      { durable: true },
    );
    registry.delete(network);
    try {
      if (network.spec.configOnly !== true) {
        await persistently(clock, () => this.#driver(network.driver).remove(network));
      }
    } catch (error) {
      // The network is removed; the next start removes what is left.
      log.error({ network: network.name, err: error }, 'a removed network left something behind');
    }
  }

  #withDefaults(spec: NetworkSpec, { name }: NetworkDriver): NetworkSpec {
    return { ...spec, options: { ...this.#deps.options.networkDefaults[name], ...spec.options } };
  }

  /** Chooses the subnets that the request does not name, and checks those that it names against all others. */
  #withSubnets(spec: NetworkSpec): NetworkSpec {
    const { registry, kernel, drivers, options } = this.#deps;
    const others = registry
      .all()
      .filter((network) => !isOfSwarm(network))
      .flatMap(({ name, pool, pool6 }) =>
        [pool, pool6].flatMap((each) => (each === undefined ? [] : [{ name, subnet: each.subnet }])),
      );
    const asked = spec.ipam.config.flatMap(({ Subnet = '' }) => parseAnyCidr(Subnet)?.subnet ?? []);
    asked.forEach((subnet) => refuseOverlap(subnet, others));
    const config = [...spec.ipam.config];
    if (!asked.some(isSubnet4)) {
      config.unshift(configOf(freeSubnet(options.addressPools, usedSubnets(registry, kernel, drivers).ipv4)));
    }
    if (spec.enableIPv6 && asked.every(isSubnet4)) {
      const supplies = supplies6(options, registry);
      config.push(configOf(freeSubnet6(supplies, usedSubnets(registry, kernel, drivers).ipv6)));
    }
    return { ...spec, ipam: { ...spec.ipam, config } };
  }

  #driver(name: string): NetworkDriver {
    const driver = this.#deps.drivers.get(name);
    if (driver === undefined) {
      throw name === 'host' || name === 'null'
        ? new EngineError('forbidden', `only one instance of "${name}" network is allowed`)
        : notFound(`plugin "${name}" not found`);
    }
    return driver;
  }

  #scope(network: Network): 'local' | 'swarm' {
    return this.#deps.drivers.get(network.driver)?.scope ?? 'local';
  }

  #view(network: Network): NetworkInspect {
    return networkView(network, {
      options: network.name === 'bridge' ? defaultBridgeOptions(this.#deps.options) : {},
      scope: this.#scope(network),
      containerName: this.#deps.containerName,
    });
  }

  #filtered(network: Network): Parameters<typeof matchesFilters>[0] {
    return {
      Name: network.name,
      Id: network.id,
      Driver: network.driver,
      Scope: this.#scope(network),
      Labels: network.spec.labels,
      isBuiltIn: network.isBuiltIn,
      isDangling: this.#isDangling(network),
    };
  }

  /** What others of the swarm have in its networks is not known here. */
  #isDangling(network: Network): boolean {
    return !network.isBuiltIn && !isInUse(network) && this.#scope(network) === 'local';
  }
}

export function networkEvent(network: Network, action: 'create' | 'destroy'): EventDraft {
  const { id, name, driver } = network;
  return { type: 'network', action, actorId: id, attributes: { name, type: driver } };
}

/** Networks without addresses of their own (host, none) have no subnets. */
function ipamStatus(network: Network): NonNullable<NetworkInspect['Status']>['IPAM'] {
  const Subnets = subnetStatuses(network);
  return Object.keys(Subnets).length === 0 ? {} : { Subnets };
}
