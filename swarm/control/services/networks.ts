import type { ServiceSpec } from '../../../api/types/swarm/service.ts';
import type { NetworkAttachmentConfig, TaskSpec } from '../../../api/types/swarm/task.ts';
import { EngineError, isEngineError, notFound } from '../../../daemon/base/errors.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { SWARM_ID } from '../../objects/ids.ts';
import type { NetworkRecord } from '../../objects/network.ts';
import { nameKey } from '../../objects/values.ts';
import { isIngress } from '../../planner/state/port-claim.ts';
import { rpcError } from '../base/rpc-error.ts';
import { unchanged } from '../base/write.ts';
import type { ControlContext } from '../context.ts';
import { findNetwork, ingressOf, knownNetwork } from '../networks/find.ts';
import type { Use } from './data-use.ts';

/** Networks that every node has by itself; tasks name them by these words. */
const ON_EVERY_NODE = ['bridge', 'host', 'none'];
/** A user makes them on each node under one name, as they name the node's own interface: tasks name them too. */
const DRIVERS_OF_NODES = ['macvlan', 'ipvlan'];

/**
 * A task with its networks by id; those that every node has stay names. Throws not_found for one that is not there, and
 * forbidden for one of this host alone, both in dockerd's words.
 */
export function withNetworks(
  context: Pick<ControlContext, 'cluster' | 'localNetwork'>,
  task: TaskSpec,
): TaskSpec {
  return task.Networks && task.Networks.length > 0
    ? { ...task, Networks: task.Networks.map((network) => resolve(context, network)) }
    : task;
}

function resolve(
  { cluster, localNetwork }: Pick<ControlContext, 'cluster' | 'localNetwork'>,
  network: NetworkAttachmentConfig,
): NetworkAttachmentConfig {
  const { Target: target } = network;
  const known = overlayOf(cluster, target);
  if (known?.ingress) {
    throw rpcError(
      'InvalidArgument',
      `Service cannot be explicitly attached to the ingress network ${JSON.stringify(known.name)}`,
    );
  }
  if (known !== undefined) {
    return { ...network, Target: known.id };
  }
  const local = localNetwork(target);
  const name = local?.name ?? target;
  if (ON_EVERY_NODE.includes(name) || DRIVERS_OF_NODES.includes(local?.driver ?? '')) {
    return { ...network, Target: name };
  }
  if (local === undefined) {
    throw notFound(`network ${target} not found`);
  }
  throw new EngineError(
    'forbidden',
    `The network ${target} cannot be used with services. Only networks scoped to the swarm can be used, such as ` +
      'those created with the overlay driver.',
  );
}

/** A name of this host's own comes before the beginning of an id: `bridge` may be one, too. */
function overlayOf(cluster: Cluster, target: string): NetworkRecord | undefined {
  const isBuiltIn = ON_EVERY_NODE.includes(target);
  try {
    return isBuiltIn ? undefined : findNetwork(cluster, target);
  } catch (error) {
    if (isEngineError(error, 'not_found')) {
      return undefined;
    }
    throw error;
  }
}

/**
 * What a service's transaction has to hold for the networks of the swarm that it is in, the ingress network among them.
 * Those that it was not in before are held by writing their names anew, on which their removal depends. Throws in
 * swarmkit's words where a port is to be published by a mesh that is not there.
 */
export function useNetworks(cluster: Cluster, spec: ServiceSpec, before?: ServiceSpec): Use {
  const use: Use = { conditions: [], values: [] };
  const used = new Set(before === undefined ? [] : idsIn(cluster, before));
  for (const id of idsIn(cluster, spec).filter((each) => !used.has(each))) {
    // It may have been removed since its name was looked up.
    const { name } = knownNetwork(cluster, id);
    use.conditions.push(unchanged(cluster, 'network', id));
    use.values.push({ kind: 'put', key: nameKey('network', name), value: Buffer.from(id) });
  }
  if (isInMesh(spec) && ingressOf(cluster) === undefined) {
    throw rpcError('FailedPrecondition', 'service needs ingress network, but no ingress network is present');
  }
  return use;
}

/** Ids only: what each node has by itself stays a name. */
function idsIn(cluster: Cluster, spec: ServiceSpec): string[] {
  const targets = (spec.TaskTemplate?.Networks ?? []).map(({ Target }) => Target);
  const ingress = isInMesh(spec) ? ingressOf(cluster) : undefined;
  return [
    ...new Set([...targets.filter((target) => SWARM_ID.test(target)), ...(ingress ? [ingress.id] : [])]),
  ];
}

function isInMesh({ EndpointSpec: endpoint }: ServiceSpec): boolean {
  return endpoint?.Ports?.some(isIngress) ?? false;
}
