import type { ContainerInspect } from '../../api/types/container.ts';
import type { PortConfig } from '../../api/types/swarm/service.ts';
import { portKey } from './container-request.ts';

/** The published ports of a task as they came out: those that the node chose have a number now. Pure. */
export function hostPorts(
  wanted: readonly PortConfig[],
  { NetworkSettings }: Pick<ContainerInspect, 'NetworkSettings'>,
): PortConfig[] {
  const keys = [...new Set(wanted.map((port) => portKey(port)))];
  return keys.flatMap((key) => {
    const found = NetworkSettings.Ports[key] ?? [];
    // One for each address family.
    const numbers = new Set(found.map(({ HostPort }) => Number(HostPort)));
    const { Name, Protocol = 'tcp', TargetPort } = wanted.find((port) => portKey(port) === key) ?? {};
    return [...numbers].map((PublishedPort): PortConfig => ({
      ...(Name !== undefined && { Name }),
      Protocol,
      ...(TargetPort !== undefined && { TargetPort }),
      PublishedPort,
      PublishMode: 'host',
    }));
  });
}
