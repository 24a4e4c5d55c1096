import type { NetworkRecord } from '../../objects/network.ts';
import type { TemplateRecord } from '../../objects/service.ts';
import { SWARM_ID } from '../../objects/ids.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { isIngress } from '../state/port-claim.ts';

/** Networks of the swarm that tasks of a template are in. */
export interface NetworkUse {
  networks: NetworkRecord[];
  /** Why a task cannot be in all of them. */
  error?: string;
}

const NOTHING: NetworkUse = { networks: [] };

/** The networks that a template asks for: the ingress network first where ports are published in it. */
export function networkUse(
  state: ClusterState,
  { task, endpoint }: Pick<TemplateRecord, 'task' | 'endpoint'>,
): NetworkUse {
  const named = task.Networks ?? [];
  const publishes = publishesIngress(endpoint);
  if (named.length === 0 && !publishes) {
    return NOTHING;
  }
  const networks = new Set<NetworkRecord>();
  if (publishes && state.ingress !== undefined) {
    networks.add(state.ingress);
  }
  let error = publishes && state.ingress === undefined ? NO_INGRESS : undefined;
  for (const { Target: target } of named) {
    const network = state.networks.get(target);
    if (network?.overlay !== undefined) {
      networks.add(network);
    } else if (network === undefined && SWARM_ID.test(target)) {
      // Other names are of networks that each node has by itself.
      error ??= `network ${target} not found`;
    }
  }
  return { networks: [...networks], ...(error === undefined ? {} : { error }) };
}

export function publishesIngress(endpoint: TemplateRecord['endpoint']): boolean {
  return endpoint?.Ports?.some(isIngress) === true;
}

const NO_INGRESS = 'service needs ingress network, but no ingress network is present';
