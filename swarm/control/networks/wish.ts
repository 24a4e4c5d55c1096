import type { StringMap } from '../../../api/types/maps.ts';
import type { IpamConfig, NetworkCreateRequest } from '../../../api/types/system.ts';
import { subnetConfigs } from '../../../daemon/base/addresses/subnet-config.ts';
import { EngineError, invalidArgument, notFound, notImplemented } from '../../../daemon/base/errors.ts';
import { checkObjectName } from '../base/names.ts';
import { rpcError } from '../base/rpc-error.ts';
import { checkOverlayOptions } from './options.ts';

/** An overlay network as its user wants it, checked; without what is chosen where nothing was said. */
export interface NetworkWish {
  name: string;
  labels: StringMap;
  options: StringMap;
  ingress: boolean;
  attachable: boolean;
  internal: boolean;
  ipv6: boolean;
  /** At most one subnet of each family. */
  config: IpamConfig[];
  vni: number | undefined;
}

/** Names that mean a network of each node. */
const PREDEFINED = new Set(['bridge', 'host', 'none', 'default']);
const PREDEFINED_LABEL = 'com.docker.swarm.predefined';

/** Throws in the words of dockerd and its managers; every field is put in force or refused by name. Pure. */
export function networkWish(request: NetworkCreateRequest): NetworkWish {
  const { Name: name = '', Ingress: ingress = false, Attachable: attachable = false } = request;
  const labels = request.Labels ?? {};
  if (PREDEFINED.has(name)) {
    throw new EngineError('forbidden', `${name} is a pre-defined network and cannot be created`);
  }
  checkDriver(request);
  refuseConfiguration(request);
  if (attachable && ingress) {
    throw rpcError('InvalidArgument', 'ingress network cannot be attachable');
  }
  checkObjectName(name);
  if (Object.hasOwn(labels, PREDEFINED_LABEL)) {
    throw rpcError(
      'PermissionDenied',
      `label ${PREDEFINED_LABEL} is for internally created predefined networks and cannot be applied by users`,
    );
  }
  const ipv6 = request.EnableIPv6 ?? false;
  const options = request.Options ?? {};
  return {
    name,
    labels,
    options,
    ingress,
    attachable,
    internal: request.Internal ?? false,
    ipv6,
    config: checkIpam(request, ipv6),
    ...checkOverlayOptions(options, { ipv6 }),
  };
}

function checkDriver({
  Name: name,
  Driver: driver = '',
  Scope: scope = '',
  Ingress,
}: NetworkCreateRequest): void {
  if (scope === 'local') {
    throw new EngineError(
      'forbidden',
      `network ${name}: driver overlay is of scope swarm, it makes no networks of scope local`,
    );
  }
  if (scope !== '' && scope !== 'swarm') {
    throw invalidArgument(`network ${name}: invalid Scope ${JSON.stringify(scope)}: expected local or swarm`);
  }
  if (driver === '' || driver === 'overlay') {
    return;
  }
  if (Ingress === true) {
    throw rpcError('Unimplemented', 'only overlay driver is currently supported for ingress network');
  }
  throw notImplemented(
    `network ${name}: Driver ${driver} with Scope swarm is not supported: make a network of this name and driver on ` +
      'each node, which services can name then',
  );
}

function refuseConfiguration({
  Name: name,
  ConfigOnly: configOnly,
  ConfigFrom: from,
}: NetworkCreateRequest): void {
  if (configOnly === true) {
    throw new EngineError(
      'forbidden',
      'configuration network can only contain network specific fields. Network operator fields like ' +
        '[ ingress | internal | attachable | scope ] are not supported.',
    );
  }
  if (from?.Network) {
    throw notImplemented(
      `network ${name}: ConfigFrom ${JSON.stringify(from.Network)} names a network of one node, from which networks ` +
        'of scope swarm take nothing',
    );
  }
}

function checkIpam(
  { Name: name, IPAM: ipam, EnableIPv4 }: NetworkCreateRequest,
  ipv6: boolean,
): IpamConfig[] {
  if (EnableIPv4 === false) {
    throw invalidArgument(`network ${name}: EnableIPv4 false is not supported: networks have IPv4, always`);
  }
  const driver = ipam?.Driver || 'default';
  if (driver !== 'default') {
    throw notFound(`ipam plugin "${driver}" not found`);
  }
  for (const key of Object.keys(ipam?.Options ?? {})) {
    throw invalidArgument(`network ${name}: IPAM option "${key}" is not supported`);
  }
  return subnetConfigs(ipam?.Config ?? [], { ipv6 });
}
