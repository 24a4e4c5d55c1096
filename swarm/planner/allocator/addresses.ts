import { isSubnet4, parseIp } from '../../../daemon/base/addresses/ip.ts';
import type { NetworkAddresses, NetworkRecord } from '../../objects/network.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { addressOf, isIn, poolsOf, type Pool } from './pools.ts';

interface Supply {
  pools: readonly Pool[];
  /** By pool: the number that was given last. */
  last: bigint[];
}

/** A network in which no address was free when so many had been freed in all. */
interface Shortage {
  freed: number;
  error: string;
}

/**
 * Free addresses, one after another: one that was given back is not given again before all others were, so that what
 * others still remember of it is old. Which are taken is what the state says; here is only where to go on, and which
 * networks had none left. What is given counts once it is applied to the state.
 */
export class Addresses {
  readonly #state: ClusterState;
  readonly #supplies = new Map<string, Supply>();
  readonly #shortages = new Map<string, Shortage>();
  /** By network: what was given last before this manager led. */
  readonly #youngest = new Map<string, { created: number; addresses: readonly string[] }>();

  constructor(state: ClusterState) {
    this.#state = state;
  }

  /** Goes on where the last leader was, as far as tasks and attachments tell. */
  begin(): void {
    for (const { record } of this.#state.tasks.values()) {
      record.networks?.forEach((given) => this.#wasGiven(record.created, given));
    }
    for (const attachment of this.#state.attachments.values()) {
      this.#wasGiven(attachment.created, attachment);
    }
  }

  #wasGiven(created: number, { network, addresses }: NetworkAddresses): void {
    if (created >= (this.#youngest.get(network)?.created ?? 0)) {
      this.#youngest.set(network, { created, addresses });
    }
  }

  /** A network was changed or removed. */
  forget(network: string): void {
    this.#supplies.delete(network);
    this.#shortages.delete(network);
  }

  /** How many who ask now may get one: as many as were freed since none was left. */
  room(network: string): number {
    const shortage = this.#shortages.get(network);
    return shortage === undefined
      ? Number.POSITIVE_INFINITY
      : this.#state.addresses.freed(network) - shortage.freed;
  }

  /** Why there is no room. */
  shortage(network: string): string {
    return this.#shortages.get(network)?.error ?? '';
  }

  /** One address of each family that the network has, but for some, IPv4 first; or why there is none. */
  next(
    network: NetworkRecord,
    { without = [] }: { without?: readonly (4 | 6)[] } = {},
  ): string[] | { error: string } {
    const supply = this.#supplyOf(network);
    const families = [true, false].filter((isFour) => supply.pools.some((pool) => isOfFamily(pool, isFour)));
    const wanted = families.filter((isFour) => !without.includes(isFour ? 4 : 6));
    if (wanted.length === 0 && families.length > 0) {
      return [];
    }
    const shortage = this.#shortages.get(network.id);
    if (shortage !== undefined && this.room(network.id) <= 0) {
      return { error: shortage.error };
    }
    const given: string[] = [];
    for (const isFour of wanted) {
      const address = this.#take(network.id, supply, isFour);
      if (address === undefined) {
        return this.#noneLeft(network, isFour);
      }
      given.push(address);
    }
    if (given.length === 0) {
      return this.#noneLeft(network, true);
    }
    if (shortage !== undefined) {
      shortage.freed += 1;
    }
    return given;
  }

  /** What `next` gave last in a network is not used after all: who waits there may have it. */
  unused(network: string): void {
    const shortage = this.#shortages.get(network);
    if (shortage !== undefined) {
      shortage.freed -= 1;
    }
  }

  /** Whether somebody may have exactly this address, which is in one of the network's subnets. */
  isFree(network: NetworkRecord, address: string): boolean {
    const { pools } = this.#supplyOf(network);
    return (
      !this.#state.addresses.has(network.id, address) && !pools.some(({ reserved }) => reserved.has(address))
    );
  }

  poolsOf(network: NetworkRecord): readonly Pool[] {
    return this.#supplyOf(network).pools;
  }

  #noneLeft(network: NetworkRecord, isFour: boolean): { error: string } {
    const error = exhausted(network, isFour);
    this.#shortages.set(network.id, { freed: this.#state.addresses.freed(network.id), error });
    return { error };
  }

  #take(network: string, { pools, last }: Supply, isFour: boolean): string | undefined {
    for (const [index, pool] of pools.entries()) {
      const number = isOfFamily(pool, isFour) ? this.#nextFree(network, pool, last[index]) : undefined;
      if (number !== undefined) {
        last[index] = number;
        return addressOf(pool.subnet, number);
      }
    }
    return undefined;
  }

  /** Among more numbers than are taken one is free: no pool is too large to be looked through. */
  #nextFree(network: string, pool: Pool, last: bigint | undefined): bigint | undefined {
    const { addresses } = this.#state;
    const size = pool.last - pool.first + 1n;
    const most = BigInt(addresses.count(network) + pool.reserved.size + 1);
    let number = last ?? pool.last;
    for (let tried = 0n; tried < size && tried < most; tried += 1n) {
      number = number >= pool.last || number < pool.first ? pool.first : number + 1n;
      const text = addressOf(pool.subnet, number);
      if (!pool.reserved.has(text) && !addresses.has(network, text)) {
        return number;
      }
    }
    return undefined;
  }

  #supplyOf(network: NetworkRecord): Supply {
    let supply = this.#supplies.get(network.id);
    if (supply === undefined) {
      const pools = network.overlay ? poolsOf(network.overlay) : [];
      supply = { pools, last: [] };
      for (const text of this.#youngest.get(network.id)?.addresses ?? []) {
        const address = parseIp(text) ?? 0;
        const index = pools.findIndex(({ subnet }) => isIn(subnet, address));
        if (index >= 0) {
          supply.last[index] = BigInt(address);
        }
      }
      this.#supplies.set(network.id, supply);
    }
    return supply;
  }
}

function isOfFamily({ subnet }: Pool, isFour: boolean): boolean {
  return isSubnet4(subnet) === isFour;
}

/** In dockerd's words. */
function exhausted({ name, id }: NetworkRecord, isFour: boolean): string {
  return `no available ${isFour ? 'IPv4' : 'IPv6'} addresses on this network's address pools: ${name} (${id})`;
}
