import type { PortConfig } from '../../../api/types/swarm/service.ts';
import type { NetworkServices } from '../../../api/types/system.ts';
import { TaskState } from '../../objects/task-state.ts';
import type { Task } from '../../planner/state/entries.ts';
import { isIngress } from '../../planner/state/port-claim.ts';
import type { ControlContext } from '../context.ts';
import { knownServices } from '../services/find.ts';
import type { KnownService } from '../services/view.ts';
import { taskName } from '../tasks/name.ts';
import { stateOf } from '../tasks/state.ts';

/** What runs in a network on all nodes, by the service's name: for `inspect?verbose=true`. From memory. */
export function servicesOf(
  context: Pick<ControlContext, 'cluster' | 'statusOf'>,
  network: string,
): NetworkServices {
  const services: NetworkServices = {};
  for (const service of knownServices(context.cluster)) {
    const tasks = [...service.tasks].flatMap((task) => taskIn(context, network, task) ?? []);
    const vip = addressIn(service.run?.vips, network);
    if (tasks.length > 0 || vip !== undefined) {
      services[service.record.spec.Name ?? ''] = {
        VIP: vip ?? '',
        Ports: portsIn(context, network, service),
        // Nothing is balanced by marks here: the address is enough.
        LocalLBIndex: 0,
        Tasks: tasks,
      };
    }
  }
  return services;
}

function taskIn(
  context: Pick<ControlContext, 'cluster' | 'statusOf'>,
  network: string,
  task: Task,
): NetworkServices[string]['Tasks'][number] | undefined {
  const address = addressIn(task.record.networks, network);
  if (address === undefined || stateOf(context, task) !== TaskState.running) {
    return undefined;
  }
  const node = context.cluster.state.nodes.get(task.record.node ?? '')?.state;
  return {
    Name: taskName(context.cluster, task),
    // Endpoints are told apart by their tasks.
    EndpointID: task.id,
    EndpointIP: address,
    Info: { 'Host IP': node?.dataAddr || (node?.addr ?? '') },
  };
}

/** Ports of the routing mesh are those of the ingress network. */
function portsIn(
  { cluster }: Pick<ControlContext, 'cluster'>,
  network: string,
  { run }: KnownService,
): string[] {
  return cluster.state.networks.get(network)?.ingress === true
    ? (run?.ports ?? []).filter(isIngress).map(portText)
    : [];
}

function portText({ TargetPort: target = 0, PublishedPort: published = 0 }: PortConfig): string {
  return `Target: ${target}, Publish: ${published}`;
}

function addressIn(
  given: readonly { network: string; addresses: string[] }[] | undefined,
  network: string,
): string | undefined {
  return given?.find((each) => each.network === network)?.addresses[0];
}
