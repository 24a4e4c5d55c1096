import type { HealthConfig } from '../../../../api/types/container.ts';
import type { ContainerSpec } from '../../../../api/types/swarm/container-spec.ts';
import { rpcError } from '../../base/rpc-error.ts';
import type { ControlContext } from '../../context.ts';

const HEALTH_NANOS_MIN = 1e6;

/** Throws in swarmkit's words. */
export function checkContainer(
  { images }: Pick<ControlContext, 'images'>,
  { Image: image = '', Mounts: mounts, Healthcheck: health }: ContainerSpec,
): void {
  if (image === '') {
    throw rpcError('InvalidArgument', 'ContainerSpec: image reference must be provided');
  }
  if (!images.isReference(image)) {
    throw rpcError(
      'InvalidArgument',
      `ContainerSpec: ${JSON.stringify(image)} is not a valid repository/tag`,
    );
  }
  const targets = new Set<string>();
  for (const { Target: target = '' } of mounts ?? []) {
    if (targets.has(target)) {
      throw rpcError('InvalidArgument', `ContainerSpec: duplicate mount point: ${target}`);
    }
    targets.add(target);
  }
  checkHealth(health ?? {});
}

function checkHealth(health: HealthConfig): void {
  const durations = {
    Interval: health.Interval,
    Timeout: health.Timeout,
    StartPeriod: health.StartPeriod,
    StartInterval: health.StartInterval,
  };
  for (const [name, nanos] of Object.entries(durations)) {
    if ((nanos ?? 0) !== 0 && (nanos ?? 0) < HEALTH_NANOS_MIN) {
      throw rpcError('InvalidArgument', `ContainerSpec: ${name} in HealthConfig cannot be less than 1ms`);
    }
  }
  if ((health.Retries ?? 0) < 0) {
    throw rpcError('InvalidArgument', 'ContainerSpec: Retries in HealthConfig cannot be negative');
  }
}
