import type { NetworkEndpoint } from '../../../../api/types/swarm/overlay.ts';
import type { AttachmentRecord } from '../../../objects/attachment.ts';
import { isTerminal, TaskState } from '../../../objects/task-state.ts';
import type { TaskStatus } from '../../../objects/task.ts';
import type { ClusterState } from '../../../planner/state/cluster-state.ts';
import type { Task } from '../../../planner/state/entries.ts';
import { observedState } from '../../../planner/state/observed.ts';
import { taskName, templateContext, type TemplateSubject } from '../../../templates/context.ts';
import { expand } from '../../../templates/execute.ts';

/** What endpoints are made of. */
export interface EndpointSource {
  state: ClusterState;
  /** What is known of a task and not stored. */
  statusOf: (task: string) => TaskStatus | undefined;
  /** Whether a node is down that is not so in the store yet. */
  isKnownDown: (node: string) => boolean;
}

/** How a node is reached by overlay traffic; undefined where nothing is known of it yet. */
export function dataAddrOf(state: ClusterState, node: string): string | undefined {
  const { dataAddr, addr } = state.nodes.get(node)?.state ?? {};
  return dataAddr || addr || undefined;
}

/**
 * A task's endpoints, one in each of its networks, until it has ended.
 *
 * @param before Its names until now: they stay when its service is gone, which they were made of.
 */
export function endpointsOfTask(
  source: EndpointSource,
  task: Task,
  before: readonly string[] = [],
): NetworkEndpoint[] {
  const { id, record } = task;
  const { node, networks = [], desired, service, iteration } = record;
  const status = source.statusOf(id) ?? task.status;
  const observed = status?.state ?? observedState(task);
  const nodeAddr = node && dataAddrOf(source.state, node);
  if (!node || !nodeAddr || networks.length === 0 || isTerminal(observed)) {
    return [];
  }
  const isReady =
    observed === TaskState.running &&
    desired === TaskState.running &&
    iteration === undefined &&
    !isDown(source, node);
  const names = namesOf(source.state, task, status) ?? [...before];
  return networks
    .filter(({ addresses }) => addresses.length > 0)
    .map(({ network, addresses }) => {
      return { network, id, node, nodeAddr, addresses, names, service, isReady };
    });
}

export function endpointsOfAttachment(
  source: EndpointSource,
  { id, node, network, addresses, names }: AttachmentRecord,
): NetworkEndpoint[] {
  const nodeAddr = dataAddrOf(source.state, node);
  const isReady = !isDown(source, node);
  return nodeAddr === undefined ? [] : [{ network, id, node, nodeAddr, addresses, names, isReady }];
}

/** A node's own endpoints, in the ingress network. */
export function endpointsOfNode({ state }: EndpointSource, node: string): NetworkEndpoint[] {
  const nodeAddr = dataAddrOf(state, node);
  const networks = nodeAddr === undefined ? [] : (state.nodeAddresses.get(node)?.networks ?? []);
  return networks.map(({ network, addresses }) => ({
    network,
    id: nodeEndpoint(node),
    node,
    nodeAddr: nodeAddr ?? '',
    addresses,
    names: [],
    isReady: false,
  }));
}

export function nodeEndpoint(node: string): string {
  return `node-${node}`;
}

function isDown({ state, isKnownDown }: EndpointSource, node: string): boolean {
  return state.nodes.get(node)?.state?.state === 'down' || isKnownDown(node);
}

/** Undefined where the service is gone. */
function namesOf(
  state: ClusterState,
  { id, record }: Task,
  status: TaskStatus | undefined,
): string[] | undefined {
  const { service, slot, node = '' } = record;
  const spec = state.services.get(service)?.record?.spec;
  if (spec === undefined) {
    return undefined;
  }
  const { Hostname = '', Platform } = state.nodes.get(node)?.description ?? {};
  const subject: TemplateSubject = {
    service: { id: service, name: spec.Name ?? '', labels: spec.Labels ?? {} },
    node: { id: node, hostname: Hostname, ...(Platform && { platform: Platform }) },
    task: { id, ...(slot === undefined ? {} : { slot }) },
  };
  const template = state.templateOf(record)?.task.ContainerSpec?.Hostname ?? '';
  const names = [taskName(subject), hostnameOf(template, subject), shortId(status?.container?.id)];
  return [...new Set(names.flatMap((name) => name?.toLowerCase() || []))];
}

/** Undefined for one that cannot be expanded: its task says so itself, as it is rejected. */
function hostnameOf(template: string, subject: TemplateSubject): string | undefined {
  try {
    return template.includes('{{') ? expand(template, templateContext(subject)) : template;
  } catch {
    return undefined;
  }
}

function shortId(container: string | undefined): string | undefined {
  return container?.slice(0, 12);
}
