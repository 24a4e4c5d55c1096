import type { Filters } from '../../../api/types/requests.ts';
import type { ServiceInspect, ServiceMode } from '../../../api/types/swarm/service.ts';
import { modeOf, type Mode } from '../../planner/service-mode.ts';
import { checkFilters, fits, fitsLabels, fitsPrefix } from '../base/filters.ts';
import type { ControlContext } from '../context.ts';
import { knownServices } from './find.ts';
import { serviceStatus } from './status.ts';
import { serviceView, type KnownService } from './view.ts';

const KEYS = ['id', 'name', 'label', 'mode', 'runtime'];
const MODE_NAMES = {
  replicated: 'replicated',
  global: 'global',
  replicatedJob: 'replicated-job',
  globalJob: 'global-job',
} as const satisfies Record<Mode['kind'], string>;

/** Throws invalid_argument for a filter that services do not have. */
export function listServices(
  context: Pick<ControlContext, 'cluster' | 'statusOf'>,
  filters: Filters,
  { status }: { status: boolean },
): ServiceInspect[] {
  checkFilters(filters, KEYS);
  return [...knownServices(context.cluster)]
    .filter((service) => matches(service, filters))
    .map((service) => ({
      ...serviceView(context, service),
      ...(status && { ServiceStatus: serviceStatus(context, service) }),
    }));
}

function matches({ id, record: { spec } }: KnownService, filters: Filters): boolean {
  return (
    fitsPrefix(filters, 'id', id) &&
    fitsPrefix(filters, 'name', spec.Name ?? '') &&
    fitsLabels(filters, 'label', spec.Labels) &&
    fits(filters, 'mode', (mode) => mode === modeName(spec)) &&
    fits(filters, 'runtime', (runtime) => runtime === 'container')
  );
}

function modeName(spec: { Mode?: ServiceMode }): string {
  return MODE_NAMES[modeOf(spec).kind];
}
