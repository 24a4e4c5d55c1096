import type { ServiceSpec, UpdateConfig } from '../../../../api/types/swarm/service.ts';

const SECOND_NANOS = 1e9;

const UPDATE: UpdateConfig = {
  Parallelism: 1,
  FailureAction: 'pause',
  Monitor: 5 * SECOND_NANOS,
  MaxFailureRatio: 0,
  Order: 'stop-first',
};

/**
 * A specification with what counts where it says nothing, as `insertDefaults` asks for. A job has no update. Pure.
 */
export function withDefaults(spec: ServiceSpec): ServiceSpec {
  const { TaskTemplate: task = {}, Mode: mode } = spec;
  const isJob = mode?.ReplicatedJob !== undefined || mode?.GlobalJob !== undefined;
  const container = task.ContainerSpec && {
    ...task.ContainerSpec,
    StopGracePeriod: task.ContainerSpec.StopGracePeriod ?? 10 * SECOND_NANOS,
    DNSConfig: task.ContainerSpec.DNSConfig ?? {},
  };
  return {
    ...spec,
    TaskTemplate: {
      ...task,
      ...(container ? { ContainerSpec: container } : {}),
      Resources: task.Resources ?? {},
      RestartPolicy: {
        Condition: 'any',
        Delay: 5 * SECOND_NANOS,
        MaxAttempts: 0,
        ...task.RestartPolicy,
      },
      Placement: task.Placement ?? {},
    },
    ...(isJob
      ? {}
      : {
          UpdateConfig: { ...UPDATE, ...spec.UpdateConfig },
          RollbackConfig: { ...UPDATE, ...spec.RollbackConfig },
        }),
  };
}
