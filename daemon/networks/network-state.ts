import type { EndpointSettings } from '../../api/types/container.ts';
import type { MetaTable } from '../../storage/database/rows.ts';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { AddressPool } from './ipam.ts';

export const BUILT_IN_NETWORKS = ['bridge', 'host', 'none'] as const;
export type BuiltInName = (typeof BUILT_IN_NETWORKS)[number];

export interface BuiltInNetwork {
  name: BuiltInName;
  id: string;
  createdNano: bigint;
  driver: 'bridge' | 'host' | 'null';
}

/** A running container in a network. */
export interface NetworkMember {
  containerId: string;
  endpoint: EndpointSettings;
}

const DRIVERS = { bridge: 'bridge', host: 'host', none: 'null' } as const satisfies Record<
  BuiltInName,
  string
>;

/**
 * The built-in networks and who is in them. Ids are made at the first start of a data root and kept in its
 * meta table; members live in memory, because a sandbox is stored with its container.
 */
export class NetworkState {
  readonly networks: Readonly<Record<BuiltInName, BuiltInNetwork>>;
  readonly #meta: MetaTable;
  readonly #members = new Map<BuiltInName, Map<string, NetworkMember>>();
  /** Of the default bridge; undefined until it was made. */
  pool: AddressPool | undefined;

  constructor(deps: { meta: MetaTable; clock: Clock }) {
    this.#meta = deps.meta;
    const load = (name: BuiltInName): BuiltInNetwork => ({
      name,
      id: this.#stored(`network.${name}.id`, newId),
      createdNano: BigInt(this.#stored(`network.${name}.created`, () => String(deps.clock.nowNano()))),
      driver: DRIVERS[name],
    });
    this.networks = { bridge: load('bridge'), host: load('host'), none: load('none') };
  }

  /** The default bridge's subnet of earlier starts, so that it is stable; undefined at the first. */
  get storedSubnet(): string | undefined {
    return this.#meta.get('network.bridge.subnet');
  }

  storeSubnet(subnet: string): void {
    if (this.storedSubnet !== subnet) {
      this.#meta.set('network.bridge.subnet', subnet);
    }
  }

  join(network: BuiltInName, member: NetworkMember): void {
    const members = this.#members.get(network) ?? new Map<string, NetworkMember>();
    members.set(member.containerId, member);
    this.#members.set(network, members);
  }

  leave(containerId: string): void {
    for (const members of this.#members.values()) {
      members.delete(containerId);
    }
  }

  members(network: BuiltInName): NetworkMember[] {
    return [...(this.#members.get(network)?.values() ?? [])];
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
