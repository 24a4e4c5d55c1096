import type { NetworkAttachmentConfig } from '../../api/types/swarm/task.ts';
import type { TaskToRun } from '../../swarm/agent/executor.ts';
import { internal } from '../base/errors.ts';
import type { TaskContext } from './context.ts';

/** A network that a task's container is to be in. */
export interface TaskNetwork {
  name: string;
  /** What the service asks for in it. */
  config: Pick<NetworkAttachmentConfig, 'Aliases' | 'DriverOpts'>;
  /** In a network of the swarm: what its managers gave the task, IPv4 first. */
  addresses?: readonly string[];
  /** The one through which published ports come: nobody asked for it by name. */
  isIngress: boolean;
}

/**
 * Those that its service names, in that order, then those of the swarm that it is in besides. Throws not_found for one
 * that this node does not have, internal for one of the swarm that is not in force here, and says why.
 */
export async function taskNetworks(context: TaskContext, task: TaskToRun): Promise<TaskNetwork[]> {
  const asked = new Map<string, TaskNetwork>();
  const configs = task.spec.Networks ?? [];
  const given = new Map(task.networks.map(({ network, addresses }) => [network, addresses] as const));
  refuseTroubled(context, [...given.keys()]);
  const others: typeof configs = [...given.keys()].map((Target) => ({ Target }));
  for (const config of [...configs, ...others]) {
    const { Id, Name, Scope, Ingress } = await context.networks.inspect(config.Target, {});
    const addresses = Scope === 'swarm' ? given.get(Id) : undefined;
    if (!asked.has(Id)) {
      asked.set(Id, { name: Name, config, isIngress: Ingress, ...(addresses && { addresses }) });
    }
  }
  return [...asked.values()];
}

function refuseTroubled({ overlays }: TaskContext, ids: readonly string[]): void {
  for (const id of ids) {
    const trouble = overlays.trouble(id);
    if (trouble !== undefined) {
      throw internal(trouble);
    }
  }
}
