import type { NetworkCreateRequest } from '../../api/types/system.ts';
import { EngineError, notFound } from '../base/errors.ts';
import type { Network } from './network.ts';

/** The driver that dockerd shows of networks that only hold configuration. */
export const CONFIG_DRIVER = 'null';

/**
 * Networks that only hold configuration (`ConfigOnly`): options, subnets, labels that other networks take over
 * (`ConfigFrom`). Nothing of them is on the host, and no container can be in them.
 *
 * Refuses, in dockerd's words (forbidden), requests with settings that such a network cannot hold.
 */
export function refuseOperatorFields(request: NetworkCreateRequest): void {
  if (request.ConfigOnly && (request.Ingress || request.Internal || request.Attachable || request.Scope)) {
    throw new EngineError(
      'forbidden',
      'configuration network can only contain network specific fields. Network operator fields like ' +
        '[ ingress | internal | attachable | scope ] are not supported.',
    );
  }
  if (request.ConfigOnly && request.ConfigFrom?.Network) {
    throw new EngineError(
      'forbidden',
      'a configuration network cannot depend on another configuration network',
    );
  }
}

/** The request with what the network in its ConfigFrom holds. Throws not_found, forbidden. */
export function withConfigFrom(
  request: NetworkCreateRequest,
  lookUp: (ref: string) => Network | undefined,
): NetworkCreateRequest {
  const ref = request.ConfigFrom?.Network ?? '';
  if (ref === '') {
    return request;
  }
  if (saysItself(request)) {
    throw new EngineError(
      'forbidden',
      'user specified configurations are not supported if the network depends on a configuration network',
    );
  }
  const config = lookUp(ref);
  if (config?.spec.configOnly !== true) {
    throw notFound(`configuration network ${JSON.stringify(ref)} does not exist`);
  }
  const { ipam, enableIPv6, options, labels } = config.spec;
  return {
    ...request,
    // A name goes on meaning this one when another has such an id.
    ConfigFrom: { Network: config.name },
    EnableIPv6: enableIPv6,
    IPAM: { Driver: ipam.driver, Options: ipam.options, Config: ipam.config },
    Options: options,
    Labels: labels,
  };
}

/** Names of the networks that use this one's configuration. */
export function dependents(config: Network, networks: readonly Network[]): string[] {
  return config.spec.configOnly === true
    ? networks.filter(({ spec }) => spec.configFrom === config.name).map(({ name }) => name)
    : [];
}

function saysItself({ IPAM, EnableIPv6, Options, Labels }: NetworkCreateRequest): boolean {
  return (
    EnableIPv6 === true ||
    !['', 'default'].includes(IPAM?.Driver ?? '') ||
    (IPAM?.Config ?? []).length > 0 ||
    [IPAM?.Options, Options, Labels].some((map) => Object.keys(map ?? {}).length > 0)
  );
}
