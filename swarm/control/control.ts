import type {
  ConfigPort,
  NodePort,
  SecretPort,
  ServicePort,
  SwarmPort,
  TaskPort,
} from '../../api/types/swarm/ports.ts';
import type { ClusterInfo, SwarmInspect, SwarmSpec, SwarmUpdateFlags } from '../../api/types/swarm/swarm.ts';
import { KeyedMutex } from '../../daemon/base/concurrency/mutex.ts';
import type { ManagerNetworks } from '../networks.ts';
import type { ControlContext } from './context.ts';
import { createData } from './data/create.ts';
import { findData } from './data/kinds.ts';
import { removeData } from './data/remove.ts';
import { updateData } from './data/update.ts';
import { configView, filteredData, secretView } from './data/view.ts';
import { serviceLogs, taskLogs } from './logs/read.ts';
import { createNetwork } from './networks/create.ts';
import { isOverlay } from './networks/find.ts';
import { isNetworkInUse, removeNetwork } from './networks/remove.ts';
import { servicesOf as servicesOfNetwork } from './networks/services-of.ts';
import { networkStatus } from './networks/status.ts';
import { networkInspect } from './networks/view.ts';
import { findNode, knownNodes } from './nodes/find.ts';
import { listNodes } from './nodes/list.ts';
import { removeNode } from './nodes/remove.ts';
import { updateNode } from './nodes/update.ts';
import { membersOf, nodeView } from './nodes/view.ts';
import { createService } from './services/create.ts';
import { findService } from './services/find.ts';
import { listServices } from './services/list.ts';
import { removeService } from './services/remove.ts';
import { updateService } from './services/update.ts';
import { serviceView } from './services/view.ts';
import { updateSwarm } from './swarm/update.ts';
import { clusterInfo, swarmView } from './swarm/view.ts';
import { findTask } from './tasks/find.ts';
import { listTasks } from './tasks/list.ts';
import { taskView } from './tasks/view.ts';

/** How many nodes and managers there are, and the swarm itself: what `/info` tells on managers. */
export interface ManagerFacts {
  Nodes: number;
  Managers: number;
  /** Not there until the store has it. */
  Cluster?: ClusterInfo;
  Warnings?: string[];
}

/**
 * The swarm's API as one manager answers it: what `SwarmPort` asks of managers. Reads are answered from memory; writes
 * are decided on what is there and written in one transaction, which a change in between makes it decide anew.
 */
export class Control implements Pick<
  SwarmPort,
  'inspect' | 'update' | 'unlockKey' | 'nodes' | 'services' | 'tasks' | 'secrets' | 'configs'
> {
  readonly #context: ControlContext;
  readonly nodes: NodePort;
  readonly services: ServicePort;
  readonly tasks: TaskPort;
  readonly secrets: SecretPort;
  readonly configs: ConfigPort;
  readonly networks: ManagerNetworks;

  constructor(context: ControlContext) {
    this.#context = context;
    this.nodes = nodesOf(context);
    this.services = servicesOf(context);
    this.tasks = tasksOf(context);
    this.secrets = secretsOf(context);
    this.configs = configsOf(context);
    this.networks = networksOf(context);
  }

  inspect(): Promise<SwarmInspect> {
    return swarmView(this.#context);
  }

  update(version: number, spec: SwarmSpec, flags: SwarmUpdateFlags): Promise<void> {
    return updateSwarm(this.#context, version, spec, flags);
  }

  unlockKey(): Promise<string> {
    return this.#context.root.unlockKey();
  }

  /** From memory, at once. */
  facts(): ManagerFacts {
    const { managers, cluster } = this.#context;
    const count = managers.list().length;
    return {
      Nodes: [...knownNodes(cluster)].length,
      Managers: count,
      ...(cluster.state.cluster && { Cluster: clusterInfo(this.#context) }),
      ...(count === 2 ? { Warnings: [TWO_MANAGERS] } : {}),
    };
  }
}

const TWO_MANAGERS =
  'WARNING: Running Swarm in a two-manager configuration. This configuration provides\n' +
  '         no fault tolerance, and poses a high risk to lose control over the cluster.\n' +
  '         Refer to https://docs.docker.com/engine/swarm/admin_guide/ to configure the\n' +
  '         Swarm for fault-tolerance.';

function nodesOf(context: ControlContext): NodePort {
  return {
    list: async (filters) => listNodes(context, filters),
    inspect: async (ref) => nodeView(context, findNode(context.cluster, ref), membersOf(context)),
    update: (ref, version, spec) => updateNode(context, ref, version, spec),
    remove: (ref, options) => removeNode(context, ref, options),
  };
}

function servicesOf(context: ControlContext): ServicePort {
  return {
    list: async (filters, options) => listServices(context, filters, options),
    inspect: async (ref, options) => serviceView(context, findService(context.cluster, ref), options),
    create: (spec, options) => createService(context, spec, options),
    update: (ref, spec, options) => updateService(context, ref, spec, options),
    remove: (ref) => removeService(context, ref),
    logs: async (ref, options) => serviceLogs(context, ref, options),
  };
}

function tasksOf(context: ControlContext): TaskPort {
  return {
    list: async (filters) => listTasks(context, filters),
    inspect: async (ref) => taskView(context, findTask(context.cluster, ref)),
    logs: async (ref, options) => taskLogs(context, ref, options),
  };
}

function secretsOf(context: ControlContext): SecretPort {
  const { cluster } = context;
  return {
    list: async (filters) =>
      filteredData(context, 'secret', filters).map((each) => secretView(context, each)),
    inspect: async (ref) => secretView(context, findData(cluster, 'secret', ref)),
    create: async (request) => ({ ID: await createData(context, 'secret', request) }),
    update: (ref, version, request) => updateData(context, 'secret', { ref, version }, request),
    remove: (ref) => removeData(context, 'secret', ref),
  };
}

function configsOf(context: ControlContext): ConfigPort {
  const { cluster } = context;
  return {
    list: async (filters) =>
      filteredData(context, 'config', filters).map((each) => configView(context, each)),
    inspect: async (ref) => configView(context, findData(cluster, 'config', ref)),
    create: async (request) => ({ ID: await createData(context, 'config', request) }),
    update: (ref, version, request) => updateData(context, 'config', { ref, version }, request),
    remove: (ref) => removeData(context, 'config', ref),
  };
}

function networksOf(context: ControlContext): ManagerNetworks {
  const turns = new KeyedMutex();
  return {
    list: () => [...context.cluster.state.networks.values()].filter(isOverlay).map(networkInspect),
    isInUse: (network) => isNetworkInUse(context.cluster, network),
    statusOf: (network) => networkStatus(context.cluster, network),
    servicesOf: (network) => servicesOfNetwork(context, network),
    // One after the other: they would only decide anew for each other.
    create: (request) => turns.run('', () => createNetwork(context, request)),
    remove: (network) => removeNetwork(context, network),
  };
}
