import type { ServiceSpec, UpdateConfig } from '../../../../api/types/swarm/service.ts';
import type { RestartPolicySpec, TaskSpec } from '../../../../api/types/swarm/task.ts';
import { errorText } from '../../../../daemon/base/errors.ts';
import { isJob, modeOf } from '../../../planner/service-mode.ts';
import { parseConstraints } from '../../../planner/placement/constraint.ts';
import { rpcError } from '../../base/rpc-error.ts';

/** Throws in swarmkit's words. Pure. */
export function checkRestartPolicy({ Delay: delay, Window: window }: RestartPolicySpec): void {
  if ((delay ?? 0) < 0) {
    throw rpcError('InvalidArgument', 'TaskSpec: restart-delay cannot be negative');
  }
  if ((window ?? 0) < 0) {
    throw rpcError('InvalidArgument', 'TaskSpec: restart-window cannot be negative');
  }
}

/** A constraint that is none has no code of its own in swarmkit: clients get 500. */
export function checkPlacement({ Placement: placement }: TaskSpec): void {
  try {
    parseConstraints(placement?.Constraints ?? []);
  } catch (error) {
    throw rpcError('Unknown', errorText(error), error);
  }
  if ((placement?.MaxReplicas ?? 0) < 0) {
    throw rpcError('InvalidArgument', 'max-replicas cannot be negative');
  }
}

export function checkMode(spec: ServiceSpec): void {
  const mode = modeOf(spec);
  if (mode.kind === 'replicated' && mode.replicas < 0) {
    throw rpcError('InvalidArgument', 'Number of replicas must be non-negative');
  }
  if (mode.kind === 'replicatedJob' && mode.concurrent < 0) {
    throw rpcError('InvalidArgument', 'Maximum concurrent jobs must not be negative');
  }
  if (mode.kind === 'replicatedJob' && mode.completions < 0) {
    throw rpcError('InvalidArgument', 'Number of completions must not be negative');
  }
  if (isJob(mode) && spec.UpdateConfig) {
    throw rpcError('InvalidArgument', 'Jobs may not have an update config');
  }
}

export function checkUpdateConfig({
  Delay: delay,
  Monitor: monitor,
  MaxFailureRatio: ratio,
}: UpdateConfig): void {
  if ((delay ?? 0) < 0) {
    throw rpcError('InvalidArgument', 'TaskSpec: update-delay cannot be negative');
  }
  if ((monitor ?? 0) < 0) {
    throw rpcError('InvalidArgument', 'TaskSpec: update-monitor cannot be negative');
  }
  if ((ratio ?? 0) < 0 || (ratio ?? 0) > 1) {
    throw rpcError(
      'InvalidArgument',
      'TaskSpec: update-maxfailureratio cannot be less than 0 or bigger than 1',
    );
  }
}
