import type { EndpointSpec, PortConfig } from '../../../../api/types/swarm/service.ts';
import { isIngress } from '../../../planner/state/port-claim.ts';
import { rpcError } from '../../base/rpc-error.ts';
import type { KnownService } from '../view.ts';

const PORT_MAX = 65_535;

/** Throws in swarmkit's words. Pure. */
export function checkEndpoint({ Mode: mode, Ports: ports }: EndpointSpec): void {
  const taken = new Set<string>();
  for (const port of ports ?? []) {
    checkNumbers(port);
    if (mode === 'dnsrr' && isIngress(port)) {
      throw rpcError(
        'InvalidArgument',
        "EndpointSpec: port published with ingress mode can't be used with dnsrr mode",
      );
    }
    if (port.PublishedPort) {
      const key = `${port.PublishMode}/${keyOf(port)}`;
      if (taken.has(key)) {
        throw rpcError('InvalidArgument', 'EndpointSpec: duplicate published ports provided');
      }
      taken.add(key);
    }
  }
}

function checkNumbers({ TargetPort: target = 0, PublishedPort: published = 0 }: PortConfig): void {
  if (target < 1 || target > PORT_MAX) {
    throw rpcError('InvalidArgument', `EndpointSpec: invalid target port ${target}`);
  }
  if (published < 0 || published > PORT_MAX) {
    throw rpcError('InvalidArgument', `EndpointSpec: invalid published port ${published}`);
  }
}

/**
 * A port of the routing mesh is one service's, on every node: no other service may publish it, in host mode neither.
 * Throws in swarmkit's words. Pure.
 */
export function checkPortConflicts(ports: readonly PortConfig[], others: Iterable<KnownService>): void {
  const wanted = ports.filter((port) => port.PublishedPort);
  if (wanted.length === 0) {
    return;
  }
  const all = new Set(wanted.map(keyOf));
  const ingress = new Set(wanted.filter(isIngress).map(keyOf));
  for (const { id, record, run } of others) {
    for (const port of [...(record.spec.EndpointSpec?.Ports ?? []), ...(run?.ports ?? [])]) {
      const isTaken = (isIngress(port) ? all : ingress).has(keyOf(port));
      if (port.PublishedPort && isTaken) {
        const how = isIngress(port) ? 'as an ingress port' : 'as a host-published port';
        throw rpcError(
          'InvalidArgument',
          `port '${port.PublishedPort}' is already in use by service '${record.spec.Name}' (${id}) ${how}`,
        );
      }
    }
  }
}

function keyOf(port: PortConfig): string {
  return `${port.Protocol ?? 'tcp'}/${port.PublishedPort}`;
}
