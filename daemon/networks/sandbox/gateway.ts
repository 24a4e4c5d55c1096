import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import type { Network } from '../network.ts';

/**
 * The endpoint through which a container reaches other hosts, and they its published ports: not of an internal network;
 * the highest GwPriority, then the first by name (as dockerd). undefined = there is none. Pure.
 */
export function gatewayOf<T extends { network: Network; settings: EndpointSettings }>(
  endpoints: readonly T[],
): T | undefined {
  const [first] = endpoints
    .filter(
      ({ network }) => !network.spec.internal && (network.pool !== undefined || network.name === 'bridge'),
    )
    .toSorted(
      (a, b) =>
        (b.settings.GwPriority ?? 0) - (a.settings.GwPriority ?? 0) ||
        (a.network.name < b.network.name ? -1 : 1),
    );
  return first;
}
