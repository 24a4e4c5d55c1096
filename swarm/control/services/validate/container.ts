import { readHubTokenLabels } from '../../../../daemon/base/hub-token-labels.ts';
import { errorText } from '../../../../daemon/base/errors.ts';
import type { HealthConfig } from '../../../../api/types/container.ts';
import type { ContainerSpec } from '../../../../api/types/swarm/container-spec.ts';
import { rpcError } from '../../base/rpc-error.ts';
import type { ControlContext } from '../../context.ts';

const HEALTH_NANOS_MIN = 1e6;
/** proc(5), oom_score_adj. */
const OOM_SCORE_MAX = 1000;

/** Throws in swarmkit's words. */
export function checkContainer(
  { images }: Pick<ControlContext, 'images'>,
  {
    Image: image = '',
    Mounts: mounts,
    Healthcheck: health,
    Labels: labels,
    OomScoreAdj: score = 0,
  }: ContainerSpec,
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
  if (Math.abs(score) > OOM_SCORE_MAX) {
    throw rpcError('InvalidArgument', `ContainerSpec: OomScoreAdj must be -1000 to 1000: ${score}`);
  }
  checkHealth(health ?? {});
  checkHubToken(labels ?? {});
}

/** What is said before a task is: the hub of its node knows repositories and permissions. */
function checkHubToken(labels: Readonly<Record<string, string>>): void {
  try {
    readHubTokenLabels(labels);
  } catch (error) {
    throw rpcError('InvalidArgument', `ContainerSpec: ${errorText(error)}`, error);
  }
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
