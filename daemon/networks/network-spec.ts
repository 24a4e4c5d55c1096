import type { IpamConfig, NetworkCreateRequest } from '../../api/types/system.ts';
import { EngineError, internal, invalidArgument, notFound, notImplemented } from '../base/errors.ts';
import { parseIpv4 } from '../base/addresses/ipv4.ts';
import { parseIpv6 } from '../base/addresses/ipv6.ts';
import { subnetConfigs } from '../base/addresses/subnet-config.ts';
import { refuseOperatorFields } from './config-networks.ts';
import { ROUTER_KEYS, poolOf, pool6Of } from './ipam/ipam-config.ts';
import type { AddressPool, AddressPool6 } from './ipam/ipam.ts';
import type { NetworkSpec } from './network.ts';

const PREDEFINED = new Set(['bridge', 'host', 'none', 'default']);
const NAME_LENGTH_MAX = 255;

/** The name, as it came. Throws invalid_argument, or forbidden for those of the engine. */
export function checkNetworkName(name: string): string {
  // dockerd takes any readable text as a name; these few could not be told from other things.
  if (
    name.trim() === '' ||
    name.length > NAME_LENGTH_MAX ||
    /[\p{Cc}/]/u.test(name) ||
    name.startsWith('container:')
  ) {
    throw invalidArgument(`invalid network name: ${JSON.stringify(name)}`);
  }
  if (PREDEFINED.has(name)) {
    throw new EngineError('forbidden', `operation is not permitted on predefined ${name} network`);
  }
  return name;
}

/**
 * What a create request means, without the subnets that the request does not name (`completeIpam` adds them). Pure. A
 * field is put in force or refused, never ignored.
 */
export function networkSpec(request: NetworkCreateRequest): NetworkSpec {
  refuseOperatorFields(request);
  refuseSwarm(request);
  if (request.EnableIPv4 === false) {
    // Ignored, it would make a network with IPv4 where the client wanted none.
    throw invalidArgument(
      `network ${request.Name}: EnableIPv4 false is not supported: networks have IPv4, always`,
    );
  }
  const ipamDriver = request.IPAM?.Driver || 'default';
  if (ipamDriver !== 'default') {
    throw notFound(`ipam plugin "${ipamDriver}" not found`);
  }
  for (const key of Object.keys(request.IPAM?.Options ?? {})) {
    throw invalidArgument(`network ${request.Name}: IPAM option "${key}" is not supported`);
  }
  return {
    internal: request.Internal ?? false,
    attachable: request.Attachable ?? false,
    enableIPv6: request.EnableIPv6 ?? false,
    ipam: {
      driver: ipamDriver,
      options: request.IPAM?.Options ?? null,
      config: subnetConfigs(request.IPAM?.Config ?? [], { ipv6: request.EnableIPv6 ?? false }),
    },
    options: request.Options ?? {},
    labels: request.Labels ?? {},
    ...(request.ConfigOnly && { configOnly: true }),
    ...(request.ConfigFrom?.Network && { configFrom: request.ConfigFrom.Network }),
  };
}

function refuseSwarm(request: NetworkCreateRequest): void {
  if (request.Ingress) {
    throw notImplemented(`network ${request.Name}: ingress networks need a swarm`);
  }
  if (request.Scope !== undefined && request.Scope !== '' && request.Scope !== 'local') {
    throw notImplemented(`network ${request.Name}: scope ${request.Scope} needs a swarm`);
  }
}

/**
 * The pools of a specification whose subnets are complete. A network that only holds settings for others allocates
 * nothing.
 */
export function poolsOf(spec: NetworkSpec, driver: string): { pool?: AddressPool; pool6?: AddressPool6 } {
  if (spec.configOnly === true) {
    return {};
  }
  const pools = spec.ipam.config.map((config: IpamConfig) => ({
    four: poolOf(config),
    six: pool6Of(config),
  }));
  const pool = pools.find(({ four }) => four !== undefined)?.four;
  const pool6 = pools.find(({ six }) => six !== undefined)?.six;
  const router = driver === 'bridge' ? parseIpv4(auxiliary(spec, ROUTER_KEYS.ipv4)) : undefined;
  const router6 = driver === 'bridge' ? parseIpv6(auxiliary(spec, ROUTER_KEYS.ipv6)) : undefined;
  return {
    ...(pool && { pool: { ...pool, ...(router !== undefined && { router }) } }),
    ...(pool6 && { pool6: { ...pool6, ...(router6 !== undefined && { router: router6 }) } }),
  };
}

function auxiliary({ ipam }: NetworkSpec, key: string): string {
  return ipam.config.map(({ AuxiliaryAddresses }) => AuxiliaryAddresses?.[key] ?? '').join('');
}

/** A specification as it came from the database. Throws internal when the row does not hold one. */
export function readSpec(stored: unknown): NetworkSpec {
  if (
    typeof stored !== 'object' ||
    stored === null ||
    !['internal', 'ipam', 'options', 'labels'].every((key) => key in stored)
  ) {
    throw internal(`the database holds no network specification: ${JSON.stringify(stored)}`);
  }
  // Written by create, from the same type; the database keeps JSON as it is.
  return stored as NetworkSpec;
}
