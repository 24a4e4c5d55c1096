import type { NetworkAddresses, NetworkRecord } from '../../objects/network.ts';
import { put, type Write } from '../../objects/parts.ts';
import type { ServiceRecord, TemplateRecord } from '../../objects/service.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import type { Service } from '../state/entries.ts';
import type { Addresses } from './addresses.ts';
import { networkUse } from './network-use.ts';

/**
 * Virtual addresses of a service: one in each network of its tasks, and none with endpoint mode dnsrr. It keeps what it
 * has; one that it is to have no more is free once the last task that ran under it has ended, so that a rolling update
 * takes it from nobody.
 */
export function allocateVips(
  state: ClusterState,
  addresses: Addresses,
  service: Service,
  record: ServiceRecord,
): Write[] {
  const before = service.run?.vips ?? [];
  const wanted = vipNetworks(state, templateOf(record));
  const used = usedNetworks(state, service);
  const kept = before.filter(({ network }) => wanted.has(network) || used.has(network));
  const had = new Set(before.map(({ network }) => network));
  const added: NetworkAddresses[] = [];
  for (const network of wanted.values()) {
    const given = had.has(network.id) ? undefined : addresses.next(network);
    if (Array.isArray(given)) {
      added.push({ network: network.id, addresses: given });
    }
  }
  if (added.length === 0 && kept.length === before.length) {
    return [];
  }
  const { vips: _vips, ...rest } = service.run ?? { id: service.id };
  const vips = [...kept, ...added];
  return [put('serviceRun', { ...rest, ...(vips.length > 0 ? { vips } : {}) })];
}

/** Networks in which a service is to have a virtual address and has none. */
export function missingVips(state: ClusterState, service: Service, record: ServiceRecord): NetworkRecord[] {
  const wanted = vipNetworks(state, templateOf(record));
  service.run?.vips?.forEach(({ network }) => wanted.delete(network));
  return [...wanted.values()];
}

/** Whether a service has a virtual address that nobody needs any more. */
export function hasSpareVip(state: ClusterState, service: Service): boolean {
  const { record, run } = service;
  if (record === undefined || run?.vips === undefined) {
    return false;
  }
  const wanted = vipNetworks(state, templateOf(record));
  const spare = run.vips.filter(({ network }) => !wanted.has(network));
  if (spare.length === 0) {
    return false;
  }
  const used = usedNetworks(state, service);
  return spare.some(({ network }) => !used.has(network));
}

/** As a template: with the service's own specification, which may be here before the template is. */
function templateOf({ spec }: ServiceRecord): Pick<TemplateRecord, 'task' | 'endpoint'> {
  return { task: spec.TaskTemplate ?? {}, ...(spec.EndpointSpec ? { endpoint: spec.EndpointSpec } : {}) };
}

/** Networks of tasks that have not ended, of those that were made for a virtual address. */
function usedNetworks(state: ClusterState, { templates, liveUses }: Service): Set<string> {
  const used = new Set<string>();
  for (const revision of liveUses.keys()) {
    const template = templates.get(revision);
    for (const network of template ? vipNetworks(state, template).keys() : []) {
      used.add(network);
    }
  }
  return used;
}

function vipNetworks(
  state: ClusterState,
  template: Pick<TemplateRecord, 'task' | 'endpoint'>,
): Map<string, NetworkRecord> {
  const networks = template.endpoint?.Mode === 'dnsrr' ? [] : networkUse(state, template).networks;
  return new Map(networks.map((network) => [network.id, network]));
}
