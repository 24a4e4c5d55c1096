import type { ServiceInspect } from '../../../api/types/swarm/service.ts';
import type { ServiceRecord, UpdateRecord } from '../../objects/service.ts';
import type { Service } from '../../planner/state/entries.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { NetworkAddresses } from '../../objects/network.ts';
import { withPrefix } from '../networks/view.ts';
import type { ControlContext } from '../context.ts';
import { headOf, timeText, versionOf } from '../base/head.ts';
import { withDefaults } from './spec/defaults.ts';
import { serviceSpecView } from './spec/view.ts';

/** A service that has not been removed. */
export type KnownService = Service & { record: ServiceRecord };

export function isKnown(service: Service | undefined): service is KnownService {
  return service?.record !== undefined;
}

/** A service as clients read it, from memory. */
export function serviceView(
  { cluster }: Pick<ControlContext, 'cluster'>,
  service: KnownService,
  { insertDefaults = false } = {},
): ServiceInspect {
  const { record, run, previous } = service;
  const spec = insertDefaults ? withDefaults(record.spec) : record.spec;
  const update = currentUpdate(service);
  const vips = virtualIps(cluster, run?.vips);
  return {
    ...headOf(record, cluster.revisionOf('service', service.id)),
    Spec: serviceSpecView(spec),
    ...(previous && { PreviousSpec: serviceSpecView(previous.spec) }),
    Endpoint: {
      Spec: record.spec.EndpointSpec ?? {},
      ...(run?.ports && run.ports.length > 0 ? { Ports: run.ports } : {}),
      ...(vips.length > 0 ? { VirtualIPs: vips } : {}),
    },
    ...(update && { UpdateStatus: updateView(update) }),
    ...(record.job && {
      JobStatus: {
        JobIteration: versionOf(record.job.iteration),
        LastExecution: timeText(record.job.lastExecution),
      },
    }),
  };
}

/** Those of networks that are still there. */
function virtualIps(
  { state }: Pick<Cluster, 'state'>,
  vips: readonly NetworkAddresses[] = [],
): { NetworkID: string; Addr: string }[] {
  return vips.flatMap(({ network, addresses }) => {
    const record = state.networks.get(network);
    return record === undefined
      ? []
      : addresses.map((address) => ({ NetworkID: network, Addr: withPrefix(record, address) }));
  });
}

/** An update to another specification than the present one is none of this. */
function currentUpdate({ record, run }: KnownService): UpdateRecord | undefined {
  return run?.update?.template === record.template ? run.update : undefined;
}

function updateView(update: UpdateRecord): NonNullable<ServiceInspect['UpdateStatus']> {
  return {
    State: update.state,
    StartedAt: timeText(update.started),
    ...(update.completed === undefined ? {} : { CompletedAt: timeText(update.completed) }),
    Message: update.message,
  };
}
