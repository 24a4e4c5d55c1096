import type { RestartPolicySpec } from '../../../api/types/swarm/task.ts';

/** A restart policy with its defaults, in milliseconds. */
export interface RestartPolicy {
  condition: 'none' | 'on-failure' | 'any';
  delayMs: number;
  /** 0: no limit. */
  maxAttempts: number;
  /** 0: attempts never fall out of the count. */
  windowMs: number;
}

const DELAY_MS_DEFAULT = 5_000;
const NANOS_PER_MS = 1e6;

/** A job that is done is never begun again: `any` means `on-failure` there. Pure. */
export function restartPolicyOf(
  spec: RestartPolicySpec | null | undefined,
  { isJob }: { isJob: boolean },
): RestartPolicy {
  const condition = spec?.Condition ?? 'any';
  return {
    condition: isJob && condition === 'any' ? 'on-failure' : condition,
    delayMs: typeof spec?.Delay === 'number' ? spec.Delay / NANOS_PER_MS : DELAY_MS_DEFAULT,
    maxAttempts: spec?.MaxAttempts ?? 0,
    windowMs: (spec?.Window ?? 0) / NANOS_PER_MS,
  };
}
