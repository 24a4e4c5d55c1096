import type { ServiceSpec } from '../../../api/types/swarm/service.ts';

/** Ids of the secrets, configs and networks that a service's specification names, without repetition. Pure. */
export function referencesOf(spec: ServiceSpec | undefined): Set<string> {
  const container = spec?.TaskTemplate?.ContainerSpec;
  return new Set([
    ...(container?.Secrets ?? []).map((secret) => secret.SecretID),
    ...(container?.Configs ?? []).map((config) => config.ConfigID),
    ...(spec?.TaskTemplate?.Networks ?? []).map((network) => network.Target),
  ]);
}
