import type { IngressPort, NetworkService } from '../../../../api/types/swarm/overlay.ts';
import type { PortConfig } from '../../../../api/types/swarm/service.ts';
import { prefersLocal } from '../../../objects/service-labels.ts';
import type { ClusterState } from '../../../planner/state/cluster-state.ts';

/** A service as each of its networks sees it: those that it names, and those that it has virtual addresses in. Pure. */
export function networkServices(state: ClusterState, id: string): NetworkService[] {
  const { record, run } = state.services.get(id) ?? {};
  if (record === undefined) {
    return [];
  }
  const { Name = '', TaskTemplate } = record.spec;
  const named = new Map(
    (TaskTemplate?.Networks ?? []).map(({ Target, Aliases }) => [Target, Aliases ?? []] as const),
  );
  const vips = new Map((run?.vips ?? []).map(({ network, addresses }) => [network, addresses] as const));
  return [...new Set([...named.keys(), ...vips.keys()])].flatMap((network) => {
    const known = state.networks.get(network);
    // `host` and `bridge` of each node are none of the swarm's.
    return known?.overlay === undefined
      ? []
      : {
          network,
          id,
          name: Name,
          vips: vips.get(network) ?? [],
          aliases: [...new Set((named.get(network) ?? []).map((alias) => alias.toLowerCase()))],
          ports: known.ingress ? ingressPorts(run?.ports ?? [], prefersLocal(record.spec)) : [],
        };
  });
}

function ingressPorts(ports: readonly PortConfig[], preferLocal: boolean): IngressPort[] {
  return ports.flatMap(({ PublishMode, Protocol = 'tcp', PublishedPort = 0, TargetPort = 0 }) =>
    PublishMode === 'host' || PublishedPort === 0
      ? []
      : {
          protocol: Protocol,
          published: PublishedPort,
          target: TargetPort,
          ...(preferLocal ? { preferLocal } : {}),
        },
  );
}
