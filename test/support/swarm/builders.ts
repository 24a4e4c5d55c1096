import type { NodeDescription, NodeSpec } from '../../../api/types/swarm/node.ts';
import type { ServiceSpec } from '../../../api/types/swarm/service.ts';
import type { SwarmSpec } from '../../../api/types/swarm/swarm.ts';
import type { IpamConfig } from '../../../api/types/system.ts';
import { formatIp, parseAnyCidr } from '../../../daemon/base/addresses/ip.ts';
import type { NetworkRecord } from '../../../swarm/objects/network.ts';
import { put, type Write } from '../../../swarm/objects/parts.ts';
import { templateId, type ServiceRecord } from '../../../swarm/objects/service.ts';
import { TaskState } from '../../../swarm/objects/task-state.ts';
import type { TaskRecord, TaskStatus } from '../../../swarm/objects/task.ts';

/** A node that is ready and active, with the parts given different. */
export function nodeWrites(
  id: string,
  spec: Partial<NodeSpec> = {},
  description: NodeDescription = {},
): Write[] {
  return [
    put('node', { id, created: 0, updated: 0, spec: { Role: 'worker', Availability: 'active', ...spec } }),
    nodeState(id, 'ready'),
    put('nodeDescription', { id, description: { Hostname: id, ...description } }),
  ];
}

/** An overlay network with these subnets; `ingress` by its name. Gateways are the first addresses. */
export function networkWrite(
  id: string,
  subnets: readonly string[] = ['10.1.0.0/16'],
  more: Partial<NetworkRecord> = {},
): Write {
  return put('network', {
    id,
    created: 0,
    updated: 0,
    name: id,
    labels: {},
    driver: 'overlay',
    ingress: id === 'ingress',
    attachable: true,
    overlay: {
      options: {},
      internal: false,
      ipv6: subnets.some((subnet) => subnet.includes(':')),
      ipam: { driver: 'default', options: null, config: subnets.map(ipamConfig) },
      vni: 4097,
    },
    ...more,
  });
}

function ipamConfig(subnet: string): IpamConfig {
  const base = parseAnyCidr(subnet)?.subnet.base ?? 0;
  return { Subnet: subnet, Gateway: formatIp(typeof base === 'number' ? base + 1 : base + 1n) };
}

/** The swarm's own record, with defaults but for what is given. */
export function clusterWrite(spec: SwarmSpec = {}): Write {
  return put('cluster', {
    id: 'c',
    created: 0,
    updated: 0,
    spec,
    addressPools: ['10.0.0.0/8'],
    subnetSize: 24,
    dataPathPort: 4789,
  });
}

export function nodeState(id: string, state: 'ready' | 'down' | 'unknown', since = 0): Write {
  return put('nodeState', { id, role: 'worker', state, message: '', addr: '', since });
}

/** A service of three replicas at revision 1 of its template, with what is given instead. */
export function serviceWrites(
  id: string,
  spec: ServiceSpec = {},
  more: Partial<ServiceRecord> = {},
): Write[] {
  const record: ServiceRecord = {
    id,
    created: 0,
    updated: 0,
    template: 1,
    templatesIssued: 1,
    spec: {
      Name: id,
      TaskTemplate: { ContainerSpec: { Image: 'busybox' } },
      Mode: { Replicated: { Replicas: 3 } },
      ...spec,
    },
    ...more,
  };
  return [
    put('service', record),
    put('template', {
      id: templateId(id, record.template),
      task: record.spec.TaskTemplate ?? {},
      ...(record.spec.EndpointSpec ? { endpoint: record.spec.EndpointSpec } : {}),
    }),
  ];
}

/** A task of `service` that is wanted running. */
export function taskRecord(id: string, service: string, more: Partial<TaskRecord> = {}): TaskRecord {
  return { id, service, template: 1, desired: TaskState.running, created: 0, updated: 0, ...more };
}

export function taskStatus(id: string, state: TaskState, at = 0, more: Partial<TaskStatus> = {}): TaskStatus {
  return { id, state, at, message: '', ...more };
}
