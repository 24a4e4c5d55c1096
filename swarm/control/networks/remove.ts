import type { Cluster } from '../../cluster/cluster.ts';
import { remove } from '../../objects/parts.ts';
import { TaskState } from '../../objects/task-state.ts';
import { nameKey, NO_INGRESS_KEY } from '../../objects/values.ts';
import type { Task } from '../../planner/state/entries.ts';
import { observedState } from '../../planner/state/observed.ts';
import { isIngress } from '../../planner/state/port-claim.ts';
import { rpcError } from '../base/rpc-error.ts';
import { unchanged, write } from '../base/write.ts';
import type { ControlContext } from '../context.ts';
import { knownServices } from '../services/find.ts';
import { findNetwork, isOverlay, knownNetwork, type KnownNetwork } from './find.ts';

/**
 * Removes a network that nothing uses. Tasks that are being stopped do not keep it: its name and subnets are free at
 * once, and the nodes take it down behind the last of them.
 */
export async function removeNetwork(
  context: Pick<ControlContext, 'cluster' | 'clock' | 'managers'>,
  ref: string,
): Promise<void> {
  const { cluster } = context;
  const { id } = findNetwork(cluster, ref);
  await write(context, {
    decide: () => {
      const network = knownNetwork(cluster, id);
      refuseInUse(cluster, network);
      // Whoever begins to use it meanwhile writes the name anew: then this is decided again.
      const name = nameKey('network', network.name);
      return {
        conditions: [
          unchanged(cluster, 'network', id),
          { key: name, revision: cluster.value(name)?.revision ?? 0 },
        ],
        parts: [remove('network', id)],
        values: [
          { kind: 'delete', key: name },
          ...(network.ingress ? [{ kind: 'put' as const, key: NO_INGRESS_KEY, value: Buffer.from(id) }] : []),
        ],
        answer: undefined,
      };
    },
  });
}

/** Whether something keeps a network from being removed. From memory. */
export function isNetworkInUse(cluster: Cluster, id: string): boolean {
  const network = cluster.state.networks.get(id);
  return isOverlay(network) && useOf(cluster, network) !== undefined;
}

/** Throws in swarmkit's words. */
function refuseInUse(cluster: Cluster, network: KnownNetwork): void {
  const use = useOf(cluster, network);
  if (use !== undefined) {
    throw rpcError('FailedPrecondition', use);
  }
}

/** Why a network cannot be removed. */
function useOf(cluster: Cluster, { id, ingress }: KnownNetwork): string | undefined {
  const { state } = cluster;
  if (ingress) {
    const published = [...knownServices(cluster)].find(
      ({ record }) => record.spec.EndpointSpec?.Ports?.some(isIngress) === true,
    );
    return published && `ingress network cannot be removed because service ${published.id} depends on it`;
  }
  const service = [...state.usersOf(id)].find(({ record }) => record !== undefined);
  if (service !== undefined) {
    return `network ${id} is in use by service ${service.id}`;
  }
  const user =
    [...state.tasks.values()].find((task) => isUsedBy(cluster, id, task))?.id ??
    [...state.attachments.values()].find(({ network }) => network === id)?.id;
  return user === undefined ? undefined : `network ${id} is in use by task ${user}`;
}

/** Whether a task is in it that nobody has ended: an update has not come to it yet. */
function isUsedBy({ state }: Cluster, network: string, task: Task): boolean {
  const { record } = task;
  return (
    record.desired <= TaskState.running &&
    observedState(task) <= TaskState.running &&
    // The planner is about to end the tasks of a service that is gone.
    state.services.get(record.service)?.record !== undefined &&
    (record.networks ?? []).some((each) => each.network === network)
  );
}
