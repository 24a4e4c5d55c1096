import type { PortConfig } from '../../../api/types/swarm/service.ts';

/** The name under which a port of the routing mesh is taken; undefined for others. Protocols do not meet. */
export function portClaim(port: PortConfig): string | undefined {
  return isIngress(port) && port.PublishedPort
    ? `${port.Protocol ?? 'tcp'}/${port.PublishedPort}`
    : undefined;
}

export function isIngress(port: PortConfig): boolean {
  return (port.PublishMode ?? 'ingress') === 'ingress';
}

export function portClaimsOf(ports: readonly PortConfig[] | undefined): string[] {
  return (ports ?? []).flatMap((port) => portClaim(port) ?? []);
}
