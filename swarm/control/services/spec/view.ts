import type { ContainerSpec } from '../../../../api/types/swarm/container-spec.ts';
import type { ServiceSpec } from '../../../../api/types/swarm/service.ts';
import type { TaskSpec } from '../../../../api/types/swarm/task.ts';

/** A specification as clients read it: labels never null, and what dockerd always says. Pure. */
export function serviceSpecView(spec: ServiceSpec): ServiceSpec {
  return {
    ...spec,
    Labels: spec.Labels ?? {},
    TaskTemplate: { ...taskSpecView(spec.TaskTemplate ?? {}), Runtime: 'container' },
  };
}

/** A task's does not say its runtime. Pure. */
export function taskSpecView({ Runtime: _runtime, ...spec }: TaskSpec): TaskSpec {
  return {
    ...spec,
    ...(spec.ContainerSpec ? { ContainerSpec: containerSpecView(spec.ContainerSpec) } : {}),
    ForceUpdate: spec.ForceUpdate ?? 0,
  };
}

function containerSpecView(spec: ContainerSpec): ContainerSpec {
  return { ...spec, Isolation: spec.Isolation || 'default' };
}
