import type { AssignedNetwork } from '../../../api/types/swarm/overlay.ts';
import { conflict } from '../../base/errors.ts';
import { newNetwork, OVERLAY_DRIVER } from '../network.ts';
import type { NetworkSpec, SwarmNames } from '../network.ts';
import type { NetworkIndex } from '../network-index.ts';
import { poolsOf } from '../network-spec.ts';

const NANO_PER_MILLI = 1_000_000n;

/** Networks of the swarm among those of this host, for as long as this node has them. */
export class SwarmEntries {
  readonly #index: NetworkIndex;

  constructor(index: NetworkIndex) {
    this.#index = index;
  }

  /** Idempotent. Throws conflict when a network of this host has its name. */
  enter(network: AssignedNetwork, names: SwarmNames): void {
    const { id, name } = network;
    if (this.#find(id) !== undefined) {
      return;
    }
    if (this.#index.hasOfHost(name)) {
      throw conflict(`network ${name} of the swarm: a network of this host has that name`);
    }
    const spec = specOf(network);
    const createdNano = BigInt(network.created) * NANO_PER_MILLI;
    const facts = { id, name, driver: OVERLAY_DRIVER, createdNano, isBuiltIn: false, spec };
    const entry = newNetwork({ ...facts, ...poolsOf(spec, OVERLAY_DRIVER) });
    entry.swarmNames = names;
    this.#index.add(entry);
  }

  /** Idempotent. */
  leave(id: string): void {
    const entry = this.#find(id);
    if (entry !== undefined) {
      this.#index.delete(entry);
    }
  }

  #find(id: string): ReturnType<NetworkIndex['ofEndpoint']> {
    return this.#index.ofEndpoint('', { NetworkID: id });
  }
}

function specOf({
  internal,
  attachable,
  ipv6,
  ingress,
  ipam,
  options,
  labels,
}: AssignedNetwork): NetworkSpec {
  return { internal, attachable, enableIPv6: ipv6, ingress, ipam, options, labels };
}
