import type { TaskSpec } from '../../../api/types/swarm/task.ts';

/** Ids of the secrets and configs that a task needs, without repetition. Pure. */
export function dataOf({ ContainerSpec: container }: TaskSpec): {
  secrets: Set<string>;
  configs: Set<string>;
} {
  const credentials = container?.Privileges?.CredentialSpec?.Config;
  return {
    secrets: new Set((container?.Secrets ?? []).map(({ SecretID }) => SecretID)),
    configs: new Set([
      ...(container?.Configs ?? []).map(({ ConfigID }) => ConfigID),
      ...(credentials ? [credentials] : []),
    ]),
  };
}
