import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import { isOfSwarm } from '../network.ts';
import { isOutlet } from './outlet.ts';
import type { Network } from '../network.ts';

/**
 * The endpoint through which a container reaches other hosts, and they its published ports: not of an internal network
 * or one of the swarm, the highest GwPriority, then the first by name (as dockerd), the outlet last. undefined = there
 * is none. Pure.
 */
export function gatewayOf<T extends { network: Network; settings: EndpointSettings }>(
  endpoints: readonly T[],
): T | undefined {
  const [first] = endpoints
    .filter(
      ({ network }) =>
        !network.spec.internal &&
        !isOfSwarm(network) &&
        (network.pool !== undefined || network.name === 'bridge'),
    )
    .toSorted(
      (a, b) =>
        (b.settings.GwPriority ?? 0) - (a.settings.GwPriority ?? 0) ||
        Number(isOutlet(a.network)) - Number(isOutlet(b.network)) ||
        (a.network.name < b.network.name ? -1 : 1),
    );
  return first;
}
