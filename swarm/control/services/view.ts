import type { ServiceInspect } from '../../../api/types/swarm/service.ts';
import type { ServiceRecord, UpdateRecord } from '../../objects/service.ts';
import type { Service } from '../../planner/state/entries.ts';
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
  return {
    ...headOf(record, cluster.revisionOf('service', service.id)),
    Spec: serviceSpecView(spec),
    ...(previous && { PreviousSpec: serviceSpecView(previous.spec) }),
    Endpoint: {
      Spec: record.spec.EndpointSpec ?? {},
      ...(run?.ports && run.ports.length > 0 ? { Ports: run.ports } : {}),
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
