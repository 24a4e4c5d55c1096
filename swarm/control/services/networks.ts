import type { NetworkAttachmentConfig, TaskSpec } from '../../../api/types/swarm/task.ts';
import { EngineError, notFound } from '../../../daemon/base/errors.ts';
import { rpcError } from '../base/rpc-error.ts';
import type { ControlContext } from '../context.ts';

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
  const { networks } = cluster.state;
  const known = networks.get(target) ?? [...networks.values()].find(({ name }) => name === target);
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
