import type { IpAddress } from '../../base/addresses/ip.ts';
import { NetworkNames } from './network-names.ts';
import type { NetworkState } from './network-state.ts';
import type { Reach } from './reach/reach.ts';

/** A network that managers told this node of. */
export interface KnownNetwork {
  readonly state: NetworkState;
  /** The kernel has it as it is here; otherwise it is made whole, not step by step. */
  isWhole: boolean;
  trouble: string | undefined;
  /** Addresses of backends that are gone, until flows to them are cut. */
  readonly forget: Set<IpAddress>;
  /** Whether the kernel can lead virtual addresses to tasks. */
  canBalance: boolean;
  readonly names: NetworkNames;
}

/** One that the kernel does not have yet. */
export function newlyKnown(state: NetworkState, reach: Reach): KnownNetwork {
  return {
    state,
    isWhole: false,
    trouble: undefined,
    forget: new Set(),
    canBalance: true,
    names: new NetworkNames(reach),
  };
}
